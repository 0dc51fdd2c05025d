# frozen_string_literal: true

require "erb"
require "erubi"
require "haml"
require "slim"

# Fifty templates, and what each engine makes of them in one thread: [engine, text, trim mode].
module TemplateCorpus
  LOCALS = Ractor.make_shareable({
    name: "Zoë <Ångström> & 'sons'", count: 3, items: [{name: "a&b", price: 1.5}, {name: "ü", price: 20}, {name: "\"q\"", price: 0}],
    nothing: nil, flag: true, nested: {"deep" => [[1, 2], [3, []]]}, text: "first\nsecond\n\nthird", symbol: :sym, float: 2.5
  })

  ERB_TEXTS = [
    "plain\n", "", "\n\n", "<%= name %>", "a <%= count %> b\n<%= nothing %>|\n",
    "<% items.each do |item| %>\n<li><%= item[:name] %>: <%= format('%.2f', item[:price]) %></li>\n<% end %>\n",
    "<%- items.each do |item| -%>\n  <%= item[:name] -%>\n<%- end -%>\nend\n",
    "% items.each do |item|\n* <%= item[:name] %>\n% end\n%% percent\n",
    "<%% not <%= 1 + 1 %> %%>\n<%# a comment %>\nx<%# two\nlines %>y\n",
    "<% if flag %>\nyes <%= name %>\n<% else %>\nno\n<% end %>\n", "é – <%= \"ñ\" + name %> 日本\n",
    "<% nested[\"deep\"].each do |a, b| %><% Array(b).each do |c| %>[<%= a.inspect %>/<%= c %>]<% end %><% end %>",
    "<%= text.lines.map { |line| line.chomp.sub(/(\\w)/) { $1.upcase } }.join(\"|\") %>\n", "<%= symbol %> <%= float %> <%= 10**30 %> <%= -7 %> <%= true %>\n",
    "<% total = 0 %><% items.each { |item| total += item[:price] } %><%= total %>\n", "<%=\n  name\n%>\n<%\n  other = 1\n%>\n<%= other %>\n",
    "'quotes' \"double\" \\ back \#{x} \#{name}\t<%= 'in' %>\n", "<% (1..count).step(2) do |n| %><%= n %>,<% end %>\r\ndos\r\n",
    "<%= case count when 3 then 'three' else 'other' end %>\n", "<%= items.map do |item| item[:name] end.join %>\n"
  ].freeze

  HAML_TEXTS = [
    "%p= name\n", "%ul\n  - items.each do |item|\n    %li{class: item[:name]}= item[:price]\n", "- if flag\n  %b yes\n- else\n  no\n",
    "%p.a#b{data: {x: name, y: count}, title: nothing} text\n", "%p Hello \#{name}!\n", "!= name\n", ":plain\n  <b>&\n%i é日\n",
    "%input{checked: flag, disabled: nothing}\n", "-# silent\n%p\n  = count\n  = symbol\n", "%pre~ text\n", "%section\n  %h1= float\n  / seen\n"
  ].freeze

  SLIM_TEXTS = [
    "p = name\n", "ul\n  - items.each do |item|\n    li class=item[:name] = item[:price]\n", "- if flag\n  b yes\n- else\n  | no\n",
    "p.a#b data-x=name title=nothing text\n", "p Hello \#{name}!\n", "== name\n", "| <b>&\ni é日\n", "input checked=flag disabled=nothing\n",
    "/ silent\np\n  = count\n  = symbol\n", "section\n  h1 = float\n  /! seen\n"
  ].freeze

  MODES = {"% " => "%", "<%-" => "-"}.freeze

  # @return [Array<Array(Symbol, String, String)>]
  def self.all
    erb = ERB_TEXTS.map { |text| [:erb, text, MODES.find { |start, _| text.start_with?(start) }&.last] } + %w[<> >].map { |mode| [:erb, ERB_TEXTS[5], mode] }
    erubi = ERB_TEXTS.first(7).map { |text| [:erubi, text, nil] }
    [*erb, *erubi, *HAML_TEXTS.map { |text| [:haml, text, nil] }, *SLIM_TEXTS.map { |text| [:slim, text, nil] }]
  end

  # @return [String] by the engine alone
  def self.expected(engine, text, mode, escape)
    scope = Object.new
    case engine
    when :erb then ERB.new(text, trim_mode: mode).result_with_hash(LOCALS)
    when :erubi then evaluate(Erubi::Engine.new(text, escape:).src)
    when :haml then Haml::Template.new(escape_html: escape) { text }.render(scope, LOCALS)
    when :slim then Slim::Template.new(disable_escape: !escape) { text }.render(scope, LOCALS)
    end
  end

  def self.evaluate(source)
    surroundings = Object.new.instance_eval { binding }
    LOCALS.each { |name, value| surroundings.local_variable_set(name, value) }
    surroundings.eval(source)
  end
  private_class_method :evaluate
end
