# frozen_string_literal: true

require "fileutils"
require "tmpdir"
require "test_helper"
require "guildhall/templates"

# The templates of a folder.
class TemplatesTest < GuildhallTest
  FILES = {
    "receipt.html.erb" => "<%# locals: (order:) -%>\n<h1><%= order[:id] %></h1><% order[:lines].each do |line| %><%= render 'line', line: %><% end %>",
    "receipt.text.erb" => "<%# locals: (order:) -%>\n<%= order[:id] %>: <%= order[:note] %>",
    "_line.html.erb" => "<%# locals: (line:) %><li><%= line %></li>",
    "shared/_foot.html.slim" => "/# locals: (name: \"x\")\np = name",
    "shared/page.haml" => "-# locals: (title:)\n%h1= title\n!= render 'foot'\n!= render 'line', line: 1",
    "layouts/mail.html.erb" => "<html><%= yield %></html>",
    "layouts/mail.text.erb" => "== <%= yield %> ==",
    "tree.erb" => "<%# locals: (node:) %>(<%= node[0] %><% node[1..].each do |child| %><%= render 'tree', node: child %><% end %>)",
    "notes.md" => "no template"
  }.freeze

  def setup
    @folder = Dir.mktmpdir
    FILES.each { |name, text| write(name, text) }
  end

  def teardown
    FileUtils.rm_rf(@folder)
  end

  def test_names
    templates = Guildhall::Templates.new(@folder)
    assert_equal [true, true, 8], [templates.frozen?, Ractor.shareable?(templates), templates.count]
    assert_equal %w[_line.html layouts/mail.html layouts/mail.text receipt.html receipt.text shared/_foot.html shared/page tree], templates.names
    assert_same templates["receipt.html"], templates["receipt"]
    assert_same templates["_line.html"], templates[:line]
    assert_same templates["shared/_foot.html"], templates["shared/foot"]
    error = assert_raises(Guildhall::ArgumentError) { templates["reciept"] }
    assert_includes error.message, "did you mean receipt"
    assert_includes templates.inspect, "8 templates"
  end

  def test_names_of_which_one_is_a_partial
    write("line.html.erb", "a page")
    templates = Guildhall::Templates.new(@folder)
    assert_equal ["a page", "a page"], [templates["line"], templates["line.html"]].map(&:render)
    assert_equal "<li>1</li>", templates["_line"].render(line: 1)
  end

  def test_files_of_the_same_name
    write("tree.slim", "p")
    error = assert_raises(Guildhall::ArgumentError) { Guildhall::Templates.new(@folder) }
    assert_includes error.message, "tree.erb and tree.slim"
  end

  def test_partials_layouts_and_formats
    templates = Guildhall::Templates.new(@folder, layout: "layouts/mail")
    order = {id: "<1>", lines: ["a", "<b>"], note: "a & b"}
    assert_equal "<html>\n<h1>&lt;1&gt;</h1><li>a</li><li>&lt;b&gt;</li></html>", templates["receipt"].render(order:)
    assert_equal "== \n<1>: a & b ==", templates["receipt.text"].render(order:)
    assert_equal "<html><h1>t</h1>\n<p>x</p><li>1</li></html>".delete("\n"), templates["shared/page"].render(title: "t").delete("\n")
    assert_equal "<html>(1(2(3))(4))</html>", templates["tree"].render(node: [1, [2, [3]], [4]])
  end

  # A mail's text has lines of its own.
  def test_partials_of_the_same_format
    write("mails/both.html.erb", "<%= render 'row' %> <%= render 'line', line: 1 %> <%= render 'sign' %>")
    write("mails/both.text.erb", "<%= render 'row' %> <%= render 'line', line: 1 %> <%= render 'sign' %> <%= render 'row.html' %>")
    write("mails/_row.html.erb", "<b>")
    write("mails/_row.text.erb", "<&>")
    write("_sign.text.erb", "--")
    write("_sign.html.erb", "<hr>")
    templates = Guildhall::Templates.new(@folder)
    assert_equal ["<b> <li>1</li> <hr>", "<&> <li>1</li> -- <b>"], [templates["mails/both"], templates["mails/both.text"]].map(&:render)
    assert_same templates["mails/row"], templates["mails/_row.html"]
  end

  def test_on_workers
    templates = Guildhall::Templates.new(@folder)
    Guildhall::Pool.open(workers: 2) do |pool|
      assert_equal ["(1(2(3))(4))"] * 20, pool.render(templates["tree"], [{node: [1, [2, [3]], [4]]}] * 20, parallel: true)
      mixed = pool.render_all([[templates["tree"], {node: [1]}], [templates["receipt.text"], {order: {id: 1, note: 2}}]])
      assert_equal ["(1)", "\n1: 2"], mixed
    end
  end

  def test_a_partial_with_wrong_locals_names_the_line_that_renders_it
    write("wrong.erb", "a\n<%= render 'line', lnie: 1 %>")
    error = assert_raises(Guildhall::TemplateError) { Guildhall::Templates.new(@folder)["wrong"].render }
    assert_equal [File.join(@folder, "wrong.erb"), 2], [error.template, error.line]
    assert_includes error.message, "missing local line; unknown local lnie; did you mean line?"
  end

  def test_options
    write("total.erb", "<%= euro(total) %>")
    helper = Module.new { def euro(amount) = "#{amount} €" }
    templates = Guildhall::Templates.new(Pathname(@folder), helpers: [helper], locals: {"total" => [:total]})
    assert_equal "7 €", templates["total"].render(total: 7)
    [{name: "x"}, {partials: {}}, {engine: :erubi}, {layout: :mail}, {layout: Guildhall::Template.new("x")}].each do |options|
      assert_raises(::ArgumentError, options.inspect) { Guildhall::Templates.new(@folder, helpers: [helper], **options) }
    end
    {layout: "layouts/mial", locals: {"totl" => [:a]}}.each do |name, value|
      assert_raises(Guildhall::ArgumentError) { Guildhall::Templates.new(@folder, helpers: [helper], name => value) }
    end
    Dir.mktmpdir { |empty| assert_raises(Guildhall::ArgumentError) { Guildhall::Templates.new(empty) } }
    assert_raises(Guildhall::ArgumentError) { Guildhall::Templates.new(File.join(@folder, "nowhere")) }
  end

  def test_files_that_change_later_make_no_difference
    template = Guildhall::Templates.new(@folder)["tree"]
    write("tree.erb", "other")
    assert_equal "(1)", template.render(node: [1])
    assert_equal "other", Guildhall::Templates.new(@folder)["tree"].render
  end

  private

  def write(name, text)
    path = File.join(@folder, name)
    FileUtils.mkdir_p(File.dirname(path))
    File.write(path, text)
  end
end
