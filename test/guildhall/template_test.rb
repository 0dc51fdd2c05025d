# frozen_string_literal: true

require "test_helper"
require "cgi/escape"
require "delegate"
require "pathname"
require "tmpdir"
require "guildhall/templates"

# A template alone: locals, escaping, layouts, partials, errors.
class TemplateTest < GuildhallTest
  UNSHAREABLE = {a: 1} # rubocop:disable Style/MutableConstant -- that it is not frozen is what is tested

  # Methods for templates.
  module Money
    EURO = "€"

    def euro(amount) = format("%.2f %s", amount, EURO)

    def boxed(&) = raw("<div>#{capture(&)}</div>")

    def yielding = yield

    def counted = @counted = (@counted || 0) + 1
  end

  # One that a worker cannot call.
  module Careless
    def rate = UNSHAREABLE[:a]
  end

  def test_a_frozen_shareable_template
    template = template("<p><%= name %></p>", :name)
    assert_equal [true, true, [:name], :erb], [template.frozen?, Ractor.shareable?(template), template.locals, template.engine]
    assert_equal "<p>Zoë</p>", template.render(name: "Zoë")
    assert_predicate template.render(name: ""), :frozen?
    assert_instance_of String, template.render(name: "")
  end

  def test_renders_in_a_ractor
    Warning[:experimental] = false
    template = template("<%= euro(amount) %> <%= '<' %> <%== '<' %>", :amount, helpers: [Money])
    assert_equal "1.50 € &lt; <", ractor_value(Ractor.new(template) { |one| one.render(amount: 1.5) })
  ensure
    Warning[:experimental] = true
  end

  def test_escapes_what_is_not_safe
    template = template("<%= text %>|<%= raw(text) %>|<%== text %>|<%= h(text) %>", :text)
    assert_equal "&lt;&amp;&#39;&quot;&gt;|<&'\">|<&'\">|&lt;&amp;&#39;&quot;&gt;", template.render(text: "<&'\">")
    assert_equal "<b>|<b>|<b>|<b>", template.render(text: Guildhall::SafeString.new("<b>"))
    assert_equal "<", template("<%= text %>", :text, escape: false).render(text: "<")
    assert_equal "&lt;B&gt;", template("<%= text.upcase %>", :text).render(text: Guildhall::SafeString.new("<b>"))
  end

  def test_asks_others_whether_they_are_safe
    safe = Class.new(String) { def html_safe? = true }
    html = Class.new(SimpleDelegator) { def html_safe? = true }
    template = template("<%= text %>", :text)
    assert_equal %w[<b> <i>], [safe.new("<b>"), html.new("<i>")].map { |text| template.render(text:) }
  end

  def test_writes_what_each_to_s_gives
    template = template("<%= value %>", :value)
    values = [nil, true, 0, -1, 2**62, -(2**62), 2**70, 1.5, :<, Object, [1, "<"], 1r, 2**62 - 1, -(2**62) - 1]
    values.each { |value| assert_equal CGI.escapeHTML(value.to_s), template.render(value:) }
  end

  def test_long_texts_with_much_to_escape
    template = template("<%= a %><%= b %>é<%= a %>", :a, :b)
    a = "ü<&>'\"" * 5000
    b = "x" * 70_000
    expected = "#{CGI.escapeHTML(a)}#{b}é#{CGI.escapeHTML(a)}"
    assert_equal expected, template.render(a:, b:)
    assert_predicate template.render(a:, b:), :valid_encoding?
    refute_predicate template.render(a: "<\xFF", b:), :valid_encoding?
  end

  def test_the_names_of_texts_say_that_they_are_not_escaped
    {"a.html.erb" => "&lt;", "a.erb" => "&lt;", "a.xml.erb" => "&lt;", "a.text.erb" => "<", "a.txt.erb" => "<", "a.csv.erb" => "<"}.each do |name, expected|
      assert_equal expected, Guildhall::Template.new("<%= '<' %>", name:).render, name
    end
    assert_equal "&lt;", Guildhall::Template.new("<%= '<' %>", name: "a.txt.erb", escape: true).render
  end

  def test_locals_are_checked
    template = template("<%= user %><%= items %>", :user, :items, name: "cart")
    error = assert_raises(Guildhall::ArgumentError) { template.render(user: 1, itms: 2) }
    assert_equal "cart: missing local items; unknown local itms; did you mean items?", error.message
    error = assert_raises(Guildhall::ArgumentError) { template.render }
    assert_equal "cart: missing locals user, items", error.message
    assert_equal "12", template.call({"user" => 1, "items" => 2})
    ["no", nil, 7, [1], {7 => 1}, {"\xFF" => 1}].each { |locals| assert_raises(Guildhall::ArgumentError) { template.call(locals) } }
    error = assert_raises(Guildhall::ArgumentError) { template("x").render(user: 1) }
    assert_includes error.message, "the template declares none"
  end

  def test_locals_with_defaults_and_in_a_comment
    assert_equal "1 2", Guildhall::Template.new("<%= a %> <%= b %>", locals: "a:, b: a + 1").render(a: 1)
    assert_equal "\n1 []", Guildhall::Template.new("<%# locals: (a:, b: []) -%>\n<%= a %> <%= b %>").render(a: 1)
    assert_equal "1 {c: 2}", Guildhall::Template.new("<%# locals: (a:, **rest) %><%= a %> <%= rest %>").render(a: 1, c: 2)
    assert_raises(Guildhall::ArgumentError) { Guildhall::Template.new("<%# locals: (a:) %>").render }
    ["a", "a = 1", "*a", "&a"].each { |locals| assert_raises(Guildhall::ArgumentError, locals) { Guildhall::Template.new("", locals:) } }
    ["a:, ) ; (", "a:, a:"].each { |locals| assert_raises(Guildhall::ArgumentError) { Guildhall::Template.new("", locals:) } }
    assert_equal "()", Guildhall::Template.new("<%# locals: (a: (1), b: [(2)]) %>(<%= '' %>)").render
  end

  def test_parentheses_and_quotes_in_the_comment_of_locals
    lists = {'(title: ":-(")' => ":-(", %q{(title: ':)', x: "a) b")} => ":)", "(title: %w[( a].join)" => "(a", "(title:\n  \"é (\" # a :)\n  )" => "é ("}
    lists.each do |list, title|
      assert_equal "#{title}!", Guildhall::Template.new("<%# locals: #{list} -%>\n<%= title %>! Don't", trim_mode: "-").render.strip[0, title.size + 1]
      latin = "<%# coding: ISO-8859-1 %>\n<%# locals: #{list} %><%= title %>".encode("ISO-8859-1").b
      assert_equal title, Guildhall::Template.new(latin).render.encode("UTF-8").strip, list
    end
    assert_equal "<p>:)</p>", Guildhall::Template.new("-# locals: (title: ':)') \"\n%p= title\n", engine: :haml).render.strip
    assert_equal "<p>:)</p>", Guildhall::Template.new("/# locals: (title: ':)')\np = title\n' don't", engine: :slim).render[0, 9]
    ["(title: ':)", "(a:, ", "(a: 1 2)", "(a: '%>')"].each do |list|
      error = assert_raises(Guildhall::ArgumentError, list) { Guildhall::Template.new("<h1>\n<%# locals: #{list} %>", name: "page.erb") }
      assert_match(/\Apage.erb:2: the comment with its locals cannot be read: \(/, error.message)
    end
  end

  def test_names_that_no_local_can_have
    [:class, :if, "a b", "a-b", :Name, "1a", :a?, :self, "", :_1, :_guildhall_out, nil, :"a:, b", :__FILE__].each do |name|
      assert_raises(Guildhall::ArgumentError, name.inspect) { template("", name) }
    end
    assert_raises(Guildhall::ArgumentError) { Guildhall::Template.new("", locals: {a: 1}) }
    assert_equal "12", template("<%= _a %><%= größe %>", :_a, :größe).render(_a: 1, größe: 2)
  end

  def test_helpers_and_variables_of_a_rendering
    template = template("<%= euro(1) %> <%= counted %><%= counted %><% x = boxed do %>a<%= '<' %><% end %><%= x %>", helpers: [Money])
    2.times { assert_equal "1.00 € 12<div>a&lt;</div>", template.render }
    assert_raises(Guildhall::ArgumentError) { template("", helpers: [String]) }
    assert_raises(Guildhall::ArgumentError) { template("", helpers: ["Money"]) }
  end

  module Initialized
    def initialize(*)
      super
      @greeting = "hello"
    end

    def greeting = @greeting
  end

  # At once, and not by each rendering.
  def test_helpers_whose_initialize_takes_the_place_of_the_views
    assert_equal "hello", template("<%= greeting %>", helpers: [Initialized]).render
    wrong = Module.new { def initialize = @greeting = "hello" }
    error = assert_raises(Guildhall::ArgumentError) { template("", helpers: [Initialized, wrong]) }
    assert_match(/\(test\): the helper #<Module.*> has an initialize \(.*template_test.rb:\d+\).*write `def initialize\(\*\)` and call super in it|has an initialize/, error.message)
    assert_includes error.message, "call super in it"
  end

  def test_a_block_that_begins_in_one_tag_and_ends_in_another
    card = template("<b><%= title %>: <%= yield %></b>", :title)
    texts = {"<%= boxed do %>a<%= '<' %><% end %>." => "<div>a&lt;</div>.", "<%= boxed { %>x<% } %>" => "<div>x</div>",
             "<%= boxed() do |a| %>\n<%= boxed do %>é<% end %><% end %>\n" => "<div>\n<div>é</div></div>\n", "a<%= yielding do %>b<% end %>c" => "abc",
             "<%== [1, 2].each do |n| %><%= n %><% end %>" => "12[1, 2]", "<%= [1, 2].map { |n| n * 2 }.sum %>" => "6",
             "<%= render 'card', title: '<' do %><i><%= 1 %></i><% end %>" => "<b>&lt;: <i>1</i></b>",
             "<% boxed do %>lost<% end %>" => ""}
    %i[erb erubi].each do |engine|
      texts.each { |text, bytes| assert_equal bytes, template(text, helpers: [Money], partials: {card:}, engine:, trim_mode: "").render, [engine, text] }
    end
  end

  def test_layouts
    outer = template("<html><%= yield %></html>")
    layout = template("<h1><%= title %></h1><%= yield :head %><% if content_for?(:foot) %>foot<% end %>[<%= yield %>]", :title, layout: outer)
    page = template("<% content_for :head, '<x>' %><% content_for(:head) do %><b><%= name %></b><% end %><%= name %>", :title, :name, layout:)
    assert_equal "<html><h1>&lt;t&gt;</h1>&lt;x&gt;<b>n&amp;</b>[n&amp;]</html>", page.render(title: "<t>", name: "n&")
    error = assert_raises(Guildhall::ArgumentError) { template("", name: "page", layout: template("<%= title %>", :title, name: "around")).render }
    assert_equal "around: missing local title; a layout gets the locals that the page was given, and not the page's defaults", error.message
    page = Guildhall::Template.new("<%= title %>", locals: "title: 'x'", layout: template("<%= title %>:<%= yield %>", :title))
    assert_equal "a:a", page.render(title: "a")
    assert_includes assert_raises(Guildhall::ArgumentError) { page.render }.message, "not the page's defaults"
    assert_raises(Guildhall::ArgumentError) { template("", layout: "x") }
  end

  def test_a_layout_asks_for_what_was_kept
    layout = template("<title><%= content_for(:title) || '<none>' %></title><%= yield %>")
    texts = ["<% content_for :title, '<t>' %>", "<% content_for(:title) { %>b<% } %>", "<% content_for :title, false %>", ""].map { |text| template(text, layout:).render }
    assert_equal %w[<title>&lt;t&gt;</title> <title>b</title> <title>false</title> <title>&lt;none&gt;</title>], texts
  end

  def test_partials
    row = template("<li><%= item %></li>", :item)
    list = template("<% items.each do |item| %><%= render 'row', item: %><% end %>", :items, partials: {row:})
    assert_equal "<li>1</li><li>&lt;</li>", list.render(items: [1, "<"])
    error = assert_raises(Guildhall::TemplateError) { template("\n<%= render 'roww' %>", partials: {"row" => row}).render }
    assert_includes error.message, "no partial roww; did you mean row?"
    assert_equal 2, error.line
    error = assert_raises(Guildhall::TemplateError) { template("<%= render 'row' %>").render }
    assert_includes error.message, "the template was given none"
    error = assert_raises(Guildhall::TemplateError) { template("<%= render 'row' %>", partials: nil).render }
    assert_includes error.message, "the template was given none"
    assert_raises(Guildhall::ArgumentError) { template("", partials: {row: "x"}) }
    assert_raises(Guildhall::ArgumentError) { template("", partials: [row]) }
  end

  def test_errors_name_the_templates_line
    error = assert_raises(Guildhall::TemplateError) { template("1\n2\n<%= nme %>\n4\n5\n6", :name, name: "mail.erb").render(name: 1) }
    assert_equal [3, "mail.erb", NameError], [error.line, error.template, error.cause.class]
    assert_match(/\ANameError: undefined local variable or method 'nme' for .*; did you mean name\? \(mail.erb:3\)\n/, error.message)
    assert_equal "      1: 1\n      2: 2\n=>    3: <%= nme %>\n      4: 4\n      5: 5", error.excerpt
    assert_match(/\Amail.erb:3/, error.backtrace.first)
  end

  # What is appended to a safe String would not be escaped.
  def test_safe_strings_do_not_change
    ["raw('<b>') << text", "h('a').concat(text)", "capture { 'a' } << text", "h('&lt;').gsub!('&lt;', text)"].each do |code|
      error = assert_raises(Guildhall::TemplateError, code) { template("<%= #{code} %>", :text).render(text: "<script>") }
      assert_kind_of FrozenError, error.cause
    end
    ["+raw('<b>') << text", "raw('<b>').dup << text", "raw('<b>').clone(freeze: false) << text", "raw('<b>') + text"].each do |code|
      assert_equal "&lt;b&gt;&lt;i&gt;", template("<%= #{code} %>", :text).render(text: "<i>")
    end
    assert_equal "<b>", template("<%= raw('<b>').clone.html_safe %>").render
    assert Ractor.shareable?(Guildhall::SafeString.new("<b>"))
    loaded = Marshal.load(Marshal.dump(Guildhall::SafeString.new("<é>")))
    assert_equal [Guildhall::SafeString, "<é>", true], [loaded.class, loaded, loaded.frozen?]
  end

  # Of every method that answers to one of these lists: what is safe is what it was, and frozen.
  def test_no_method_of_string_makes_a_safe_string_that_changes
    lists = [[], ["<i>"], [0], [0, 3], [2], [80], [80, "x"], [0..3], [/b/, "<i>"], %w[b <i>], ["UTF-8"], ["UTF-16LE"], [Encoding::ISO_8859_1], [:nfd], [["x"]]]
    (String.public_instance_methods(false) | %i[clone itself clamp]).product(lists) do |name, arguments|
      safe = Guildhall::SafeString.new("<b>hé %s</b>")
      answers = begin
        [safe.public_send(name, *arguments)].flatten.grep(Guildhall::SafeString)
      rescue StandardError, NotImplementedError
        []
      end
      assert(answers.all? { |answer| answer.frozen? && answer == "<b>hé %s</b>" }, "#{name}(#{arguments})")
    end
  end

  def test_texts_whose_encoding_cannot_be_escaped
    text = "<script>".encode("UTF-16LE")
    ["<%= text %>", "<%= h(text).encode('UTF-8') %>", "<%= capture { text } %>", "<% content_for :a, text %>"].each do |code|
      error = assert_raises(Guildhall::TemplateError, code) { template(code, :text).render(text:) }
      assert_equal ["text in UTF-16LE cannot be escaped; encode it as UTF-8 first", Encoding::CompatibilityError], [error.cause.message, error.cause.class]
    end
    assert_equal "a", template("a<%= h(text) %>", :text).render(text: "".encode("UTF-16LE"))
  end

  # In every engine, and where it is kept for the layout.
  def test_what_a_template_that_does_not_escape_wrote_is_escaped_in_html
    bodies = {erb: "<%= n %>", slim: "| \#{n}", haml: "= n"}
    kept = {erb: "<% content_for(:a) do %><%= n %><% end %>", slim: "- content_for(:a) do\n  | \#{n}", haml: "- content_for(:a) do\n  = n"}
    layout = template("[<%= yield %>|<%= yield :a %>]")
    bodies.each_key do |engine|
      text = template(bodies[engine], :n, engine:, escape: false)
      assert_equal "&lt;", template("<%= render 'text', n: '<' %>", partials: {text:}).render.strip, engine
      results = [bodies, kept].map { |texts| template(texts[engine], :n, engine:, escape: false, layout:).render(n: "<").delete("\n") }
      assert_equal ["[&lt;|]", "[|&lt;]"], results, engine
    end
  end

  def test_html_in_a_text_and_texts_in_texts_stay_as_they_are
    text = template("<%= yield %><%= yield :a %>", escape: false)
    html = template("<b><%= n %></b><% content_for :a, n %>", :n, layout: text)
    assert_equal "<b>&lt;</b>&lt;", html.render(n: "<")
    page = template("<% content_for :a, n %><% content_for(:a) do %><%= n %><% end %><%= render 'x', n: %>", :n, escape: false, layout: text,
      partials: {x: template("<%= n %>", :n, escape: false)})
    assert_equal "&&&", page.render(n: "&")
    mixed = template("<% content_for :a, n %><%= render 'x', n: %>", :n, escape: false, layout: template("<%= yield :a %>"),
      partials: {x: template("<% content_for(:a) do %><b><%= n %></b><% end %>", :n)})
    assert_equal "&lt;<b>&lt;</b>", mixed.render(n: "<")
  end

  def test_errors_in_partials_and_helpers
    partial = template("a\n<%= item.upcase %>", :item, name: "_row")
    page = template("\n\n<%= render 'row', item: 1 %>", partials: {row: partial}, name: "page")
    error = assert_raises(Guildhall::TemplateError) { page.render }
    assert_equal ["_row", 2], [error.template, error.line]
    assert(error.backtrace.any? { |line| line.start_with?("page:3") })
    error = assert_raises(Guildhall::TemplateError) { template("\n<%= euro('x') %>", helpers: [Money], name: "page").render }
    assert_equal [2, ::ArgumentError], [error.line, error.cause.class]
  end

  def test_whatever_a_template_raises
    template = template("\n<% raise thing %>", :thing, name: "x")
    mute = Class.new(StandardError) { def message = raise("no") }
    [NotImplementedError.new("a"), mute.new, StandardError.new("\xFF\xFE".b), StandardError.new("é".encode("UTF-16"))].each do |thing|
      error = assert_raises(Guildhall::TemplateError) { template.render(thing:) }
      assert_equal [2, thing], [error.line, error.cause]
    end
    assert_raises(SystemExit) { template("<% exit %>").render }
    assert_raises(Guildhall::TemplateError) { template("<% throw :a %>").render }
    ["<% return %>", "<% return 5 %>", "<% [1].each { return '<' } %>"].each { |text| assert_kind_of LocalJumpError, assert_raises(Guildhall::TemplateError) { template(text).render }.cause }
    assert_equal 1, catch(:a) { template("<% throw :a, 1 %>").render }
  end

  def test_endless_recursion
    Dir.mktmpdir do |folder|
      File.write(File.join(folder, "a.erb"), "\n<%= render 'a' %>")
      error = assert_raises(Guildhall::TemplateError) { Guildhall::Templates.new(folder)["a"].render }
      assert_kind_of SystemStackError, error.cause
    end
  end

  def test_what_is_no_ruby
    {"a\n<% if %>\n" => 2, "a\n\n<% end %>\nb" => 3, "a\n<% [1].each do |x| %>\n\n\n" => 2, "a\n<% if 1 %>\nb\nc\n" => 2,
     "a\n<% [1].each { |x| %>\n<li>\n\n" => 2, "<% if 1 %>\n<% else %>\n\n" => 1, "a\n<%= ) %>" => 2}.each do |text, line|
      error = assert_raises(Guildhall::TemplateError, text) { template(text, name: "page.erb") }
      assert_includes error.message, "no valid Ruby"
      assert_equal line, error.line, text
    end
    {"\n<% X = 1 %>" => "dynamic constant assignment", "\n<% class A; end %>" => "class definition in method body", "\n<% break %>" => "Invalid break"}.each do |text, reason|
      error = assert_raises(Guildhall::TemplateError, text) { template(text) }
      assert_match(/#{reason}/i, error.message)
      assert_equal 2, error.line
    end
    ["a\n<% def foo = 1 %>", "\n<% [1].each do %><% def self.foo(a)\n a\nend %><% end %>"].each do |text|
      error = assert_raises(Guildhall::TemplateError, text) { template(text) }
      assert_equal 2, error.line
      assert_includes error.message, "must not define methods"
    end
    assert_equal "definemethod\n0000 definemethod", template("<%= \"definemethod\\n0000 definemethod\" %>").render
    ["<% if true -%>\nx<% end %>", "<%= 1 -%>\nx", "<% [1].each do -%>\nx<% end -%>"].each do |text|
      assert_includes assert_raises(Guildhall::TemplateError, text) { template(text) }.message, "; `-%>` needs the trim mode \"-\" ("
      error = assert_raises(Guildhall::TemplateError) { template("#{text}<% if %>", trim_mode: "-") }
      refute_includes error.message, "trim mode"
    end
    error = assert_raises(Guildhall::TemplateError) { template("%p\n    %b\n  %i\n", engine: :haml, name: "x.haml") }
    assert_equal 3, error.line
    error = assert_raises(Guildhall::TemplateError) { template("p\n  b\n i\n", engine: :slim, name: "x.slim") }
    assert_equal 3, error.line
  end

  def test_what_workers_may_not_touch
    {"\n<%= TemplateTest::UNSHAREABLE %>" => 2, "<%= $things %>" => 1, "\n\n<%= @@count %>" => 3}.each do |text, line|
      error = assert_raises(Guildhall::IsolationError, text) { template(text, name: "page.erb") }
      assert_includes error.message, "(page.erb:#{line})"
      assert_includes error.message, format("=> %4d: ", line)
    end
    error = assert_raises(Guildhall::IsolationError) { template("<%= rate %>", helpers: [Careless]) }
    assert_match(/UNSHAREABLE \(#{__FILE__}:\d+\) is a Hash/, error.message)
  end

  # In a process of its own, because it freezes what belongs to Haml.
  def test_a_filter_whose_gem_is_missing
    error = assert_raises(Guildhall::TemplateError) { template(":markdown\n  # x\n", engine: :haml, name: "x.haml") }
    assert_includes error.message, "LoadError"
  end

  def test_attributes_of_haml_whose_names_are_computed
    script = <<~'RUBY'
      require "guildhall/templates"
      Warning[:experimental] = false
      text = "%p\n  text\n%a{links}\n"
      begin
        Guildhall::Template.new(text, engine: :haml, locals: [:links], name: "page.haml")
      rescue Guildhall::IsolationError => error
        puts error.message
      end
      Ractor.make_shareable(Haml::BOOLEAN_ATTRIBUTES)
      template = Guildhall::Template.new(text, engine: :haml, locals: [:links])
      Guildhall::Pool.open(workers: 1) { |pool| puts pool.render(template, [{links: {href: "<"}}], parallel: true) }
    RUBY
    assert_equal ["page.haml cannot be rendered on workers, and so nowhere: attributes whose names are computed (line 3) need Haml::BOOLEAN_ATTRIBUTES, " \
                  "which is not shareable; call Ractor.make_shareable(Haml::BOOLEAN_ATTRIBUTES) before, or write the names in the template",
                  "<p>", "text", "</p>", "<a href=\"&lt;\"></a>"], assert_ruby(script).lines(chomp: true)
  end

  def test_engines
    error = assert_raises(Guildhall::ArgumentError) { template("", engine: :hmal) }
    assert_includes error.message, "did you mean haml?"
    assert_raises(Guildhall::ArgumentError) { template("", engine: :haml, trim_mode: "-") }
    ["zz", :-, 7].each { |trim_mode| assert_raises(Guildhall::ArgumentError) { template("", trim_mode:) } }
    assert_raises(Guildhall::ArgumentError) { template("", escape: "no") }
    assert_equal({"a.haml" => :haml, "a.html.slim" => :slim, "a.erubi" => :erubi, "a.rhtml" => :erb, "a" => :erb},
      %w[a.haml a.html.slim a.erubi a.rhtml a].to_h { |name| [name, template("", name:).engine] })
  end

  def test_an_engine_that_is_not_there
    script = <<~'RUBY'
      module Kernel
        alias_method :found, :require
        def require(name) = %w[erubi haml slim].include?(name) ? raise(LoadError.new("no #{name}").tap { |error| error.define_singleton_method(:path) { name } }) : found(name)
        private :require
      end
      require "guildhall/templates"
      %i[erubi haml slim].each do |engine|
        Guildhall::Template.new("", engine:)
      rescue Guildhall::MissingDependencyError => error
        puts error.message
      end
    RUBY
    expected = %w[erubi haml slim].map { |gem| "engine: :#{gem} needs the gem #{gem}: add `gem \"#{gem}\"` to the Gemfile" }
    assert_equal expected, assert_ruby(script).lines(chomp: true)
  end

  # Lines count from where the text begins, however many the declaration has.
  def test_locals_of_several_lines
    text = "<%# locals: (\n  a:,\n  b: 1 # one\n) -%>\n"
    assert_equal "\n1 1", Guildhall::Template.new("#{text}<%= a %> <%= b %>").render(a: 1)
    {"<%= nope %>" => Guildhall::TemplateError, "<% X = 1 %>" => Guildhall::TemplateError, "<% def x = 1 %>" => Guildhall::TemplateError,
     "<% if %>" => Guildhall::TemplateError}.each do |code, type|
      error = assert_raises(type, code) { Guildhall::Template.new("#{text}\n#{code}", name: "page.erb").render(a: 1) }
      assert_equal ["page.erb", 6], [error.template, error.line], code
    end
    error = assert_raises(Guildhall::IsolationError) { Guildhall::Template.new("#{text}\n<%= $things %>", name: "page.erb") }
    assert_includes error.message, "=>    6: "
    error = assert_raises(Guildhall::TemplateError) { Guildhall::Template.new("\n<%= nope %>", locals: "a:,\nb: 1").render(a: 1) }
    assert_equal 2, error.line
  end

  def test_what_a_capture_leaves_behind
    ["x = capture do %>lost<% break 'x' %><% end", "begin; capture do %>lost<% raise 'no' %><% end; rescue; end",
     "begin; content_for(:a) do %>lost<% raise 'no' %><% end; rescue; end", "catch(:a) do capture do %>lost<% throw :a %><% end; end"].each do |code|
      assert_equal "ab", template("a<% #{code} %>b").render, code
    end
    assert_equal "a[<b>é2</b>]", template("a<% x = capture do %>1<% y = capture do %><b>é<%= 2 %></b><% end %><% break y %><% end %>[<%= x %>]").render
  end

  def test_captures_take_no_longer_in_a_long_text
    template = template("<%= text %><% n.times do %><% x = capture do %>ü<%= 1 %><% end %><%= x %><% end %>", :text, :n)
    started = Process.clock_gettime(Process::CLOCK_PROCESS_CPUTIME_ID)
    assert_equal 2_000_000 + 6000, template.render(text: "é" * 1_000_000, n: 2000).bytesize
    assert_operator Process.clock_gettime(Process::CLOCK_PROCESS_CPUTIME_ID) - started, :<, 5
  end

  def test_blocks_within_blocks_of_haml_and_slim
    layout = template("<%= yield :head %>|<%= yield %>")
    slim = "= boxed do\n  p a\n  - content_for :head do\n    b hi\n  - x = capture do\n    i q\n  = x\n  = boxed do\n    = '<'\n  p c\n"
    haml = slim.gsub(/^( *)(p|b|i) /, "\\1%\\2 ")
    {slim:, haml:}.each do |engine, text|
      result = template(text, engine:, layout:, helpers: [Money]).render
      assert_equal "<b>hi</b>|<div><p>a</p><i>q</i><div>&lt;</div><p>c</p></div>", result.delete("\n"), engine
    end
    text = "= [1, 2, 3].map do |i|\n  | a\n  - next if i == 2\n  - break 'x' if i == 4\n  = i\np\n"
    assert_equal "[&quot;a1&quot;, nil, &quot;a3&quot;]<p></p>", template(text, engine: :slim).render
  end

  # Which temple would write as one value.
  def test_blocks_of_one_line_in_haml_and_slim
    {"= boxed do\n  %b hi" => "<b>hi</b>", "= boxed do\n  <b>hi</b>" => "<b>hi</b>", "= boxed do\n  %p Hi \#{name}!" => "<p>Hi &lt;!</p>"}.each do |text, expected|
      assert_equal "<div>#{expected}</div>", template(text, :name, engine: :haml, helpers: [Money]).render(name: "<").delete("\n"), text
    end
    {"= boxed do\n  b hi" => "<b>hi</b>", "= boxed do\n  | \#{name}" => "&lt;"}.each do |text, expected|
      assert_equal "<div>#{expected}</div>", template(text, :name, engine: :slim, helpers: [Money]).render(name: "<"), text
    end
  end

  def test_files
    Dir.mktmpdir do |folder|
      path = File.join(folder, "mail.txt.erb")
      File.write(path, "Dear <%= name %>")
      assert_equal "Dear <", Guildhall::Template.new(path, locals: [:name]).render(name: "<")
      File.write(path, "\uFEFFDear <%= name %>")
      assert_equal "Dear x", Guildhall::Template.new(Pathname(path), locals: [:name]).render(name: "x")
      error = assert_raises(Guildhall::ArgumentError) { Guildhall::Template.new(File.join(folder, "mial.txt.erb")) }
      assert_includes error.message, "did you mean #{path}?"
    end
    assert_equal "mail.txt.erb", Guildhall::Template.new("mail.txt.erb", name: "a text").render
    assert_raises(Guildhall::ArgumentError) { Guildhall::Template.new(7) }
    [:mail, Pathname("mail.erb"), 7, "a\0b"].each { |name| assert_raises(Guildhall::ArgumentError, name.inspect) { Guildhall::Template.new("", name:) } }
    assert_equal :slim, Guildhall::Template.new("p", name: "\xFF.slim").engine
  end

  def test_the_first_value_does_not_decide_on_the_encoding
    template = template("<%= x %>", :x)
    assert_equal Encoding::UTF_8, template.render(x: "a".encode("US-ASCII")).encoding
    assert_equal Encoding::UTF_8, template.render(x: "<".encode("ISO-8859-1")).encoding
    ["\xE9".dup.force_encoding("ISO-8859-1"), "a".encode("UTF-16LE")].each do |x|
      assert_kind_of Encoding::CompatibilityError, assert_raises(Guildhall::TemplateError) { template.render(x:) }.cause
    end
  end

  # `File.read` says so where no locale is set, as in many containers.
  def test_a_text_in_ascii_is_one_in_utf8
    text = "<%= x %>".dup.force_encoding("US-ASCII")
    assert_equal [Encoding::UTF_8] * 2, %w[é e].map { |x| template(text, :x).render(x:).encoding }
    assert_equal "ü1", template("ü<%= 1 %>".dup.force_encoding("US-ASCII")).render
  end

  def test_encodings
    assert_equal Encoding::UTF_8, template("a").render.encoding
    latin = template("<%# coding: ISO-8859-1 %>\xE9<%= x %>".b, :x)
    assert_equal ["\xE9b".dup.force_encoding("ISO-8859-1")] * 2, [latin.render(x: "b"), latin.render(x: "").then { |text| "#{text}b" }]
    error = assert_raises(Guildhall::TemplateError) { template("ü\n<%= x %>", :x).render(x: "\xE9".dup.force_encoding("ISO-8859-1")) }
    assert_equal [2, Encoding::CompatibilityError], [error.line, error.cause.class]
    error = assert_raises(Guildhall::TemplateError) { template("ü\n<%= x %>", :x).render(x: "<\xE9".dup.force_encoding("ISO-8859-1")) }
    assert_equal Encoding::CompatibilityError, error.cause.class
    error = assert_raises(Guildhall::ArgumentError) { template("a\n\xFFb", name: "x.erb") }
    assert_includes error.message, "x.erb:2 is not valid UTF-8"
    assert_raises(Guildhall::ArgumentError) { template("a".encode("UTF-16LE")) }
    assert_raises(Guildhall::ArgumentError) { template("<%# coding: klingon %>") }
    assert_equal "&lt;é", template("<%= x %>", :x).render(x: "<é".encode("UTF-8"))
  end

  def test_errors_of_a_template_in_another_encoding
    latin = template("<%# coding: ISO-8859-1 %>\xE9\n<% raise reason %>".b, :reason)
    error = assert_raises(Guildhall::TemplateError) { latin.render(reason: "größe") }
    assert_equal [2, Encoding::UTF_8], [error.line, error.message.encoding]
    assert_includes error.message, "RuntimeError: größe"
    assert_includes error.excerpt, "é"
    error = assert_raises(Guildhall::TemplateError) { template("<%# coding: ISO-8859-1 %>\xE9\n<% if %>".b, name: "grüße") }
    assert_equal ["grüße", 2], [error.template, error.line]
  end

  def test_the_given_text_stays_as_it_is
    text = +"<%= 1 %>"
    template = Guildhall::Template.new(text)
    text << "!"
    refute_predicate text, :frozen?
    assert_equal "1", template.render
  end

  def test_compiled_in_the_main_ractor
    Warning[:experimental] = false
    ractor = Ractor.new do
      Guildhall::Template.new("x")
    rescue StandardError
      $!.class
    end
    assert_equal Guildhall::WrongRactorError, ractor_value(ractor)
  ensure
    Warning[:experimental] = true
  end

  # As ERB has it.
  def test_frozen_string_literal
    body = "<% text = 'a'.encode('UTF-8') ? 'a' : 'b' %><%= text.frozen? %>\n<%= __LINE__ %>"
    ["<%# frozen_string_literal: true %>", "<%# -*- Frozen-String-Literal: TRUE -*- %>", "<%# coding: UTF-8, frozen_string_literal: true %>"].each do |comment|
      assert_equal "true\n2", Guildhall::Template.new("#{comment}#{body}").render, comment
      assert_equal "\ntrue\n3", Guildhall::Template.new("#{comment}\n#{body}").render, comment
    end
    ["", "<%# frozen_string_literal: false %>", "frozen_string_literal: true"].each do |comment|
      assert_includes Guildhall::Template.new("#{comment}#{body}").render, "false\n2"
    end
    error = assert_raises(Guildhall::TemplateError) { Guildhall::Template.new("<%# frozen_string_literal: true %>\n<% 'a' << 'b' %>").render }
    assert_equal 2, error.line
  end

  private

  def template(text, *locals, **)
    Guildhall::Template.new(text, locals:, **)
  end
end
