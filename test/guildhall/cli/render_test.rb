# frozen_string_literal: true

require "fileutils"
require "stringio"
require "tmpdir"
require "test_helper"
require "guildhall/cli"

# `guildhall render`: one file for each row.
class CLIRenderTest < GuildhallTest
  def setup
    @folder = Dir.mktmpdir
    write("mail.html.erb", "Dear <%= name %> (<%= row[\"First Name\"] %>)")
  end

  def teardown
    FileUtils.rm_rf(@folder)
  end

  def test_formats
    write("rows.jsonl", %({"name": "Ada & Co", "First Name": "x"}\n\n{"name": "Bob"}\n))
    write("rows.csv", "\uFEFFname,First Name\nAda & Co,x\nBob,\n")
    write("rows.yaml", "- {name: Ada & Co, First Name: x}\n- {name: Bob}\n")
    write("rows.json", %([{"name": "Ada & Co", "First Name": "x"}, {"name": "Bob"}]))
    %w[jsonl csv yaml json].each do |format|
      assert_equal [0, "2 files in #{path(format)}\n", ""], render("mail.html.erb", "rows.#{format}", format)
      assert_equal({"000001.html" => "Dear Ada &amp; Co (x)", "000002.html" => "Dear Bob ()"}, files(format), format)
    end
  end

  # What an editor saves as "Unicode".
  def test_files_in_other_encodings_than_utf8
    names = {"rows.jsonl" => %({"name": "a"}\n), "rows.json" => %([{"name": "a"}]), "rows.csv" => "name\na\n", "rows.yaml" => "- {name: a}\n"}
    names.to_a.product(%w[UTF-16LE UTF-16BE UTF-32LE UTF-32BE]) do |(name, text), encoding|
      File.binwrite(path(name), "\uFEFF#{text}".encode(encoding))
      assert_equal [2, "", "guildhall: #{path(name)} is in #{encoding[0, 6]}: save it as UTF-8\n"], render("mail.html.erb", name, "out")
    end
    names.each do |name, text|
      File.write(path(name), "\uFEFF#{text}")
      assert_equal 0, render("mail.html.erb", name, name.tr(".", "_")).first, name
    end
    File.binwrite(path("wide.erb"), "\uFEFFDear <%= name %>".encode("UTF-16LE"))
    assert_includes render("wide.erb", "rows.csv", "out").last, "wide.erb is in UTF-16: save it as UTF-8"
  end

  def test_a_bad_row_costs_one_file
    write("rows.jsonl", %({"name": "a", "id": 1}\nnot JSON\n[1]\n{"id": 4}\n{"name": "b", "id": "../../x"}\n{"name": "c", "id": 1}\n\xFF\n))
    status, out, err = render("mail.html.erb", "rows.jsonl", "out", "--name", "{id}.html")
    assert_equal [1, "2 files in #{path("out")}, 5 failed\n"], [status, out]
    assert_equal ["1.html", "__.._x.html"], files("out").keys.sort
    [/row 2: line 2: JSON/, /row 3: a row is an object/, /row 4: .*missing local name/, /row 6: its name, 1.html, is that of row 1/, /row 7: line 7: JSON/]
      .each { |problem| assert_match(problem, err) }
  end

  # A spreadsheet's separator makes one column of all.
  def test_a_local_that_there_is_not_names_the_columns_that_there_are
    write("rows.csv", "id;name\n1;Ada\n")
    status, _, err = render("mail.html.erb", "rows.csv", "a")
    assert_equal 1, status
    assert_match(/row 1: NameError: undefined local variable or method 'name'/, err)
    assert_includes err, %(rows.csv has "id;name"; columns are separated by commas, and this file seems to have ";")
    write("rows.jsonl", %({"nam": "Ada", "id": 1}\n))
    _, _, err = render("mail.html.erb", "rows.jsonl", "b")
    assert_match(/rows.jsonl has "nam", "id"$/, err)
  end

  def test_locals_layout_engine_and_escape
    write("rows.csv", "name\n<a>\n")
    write("page.txt", "= <%= name %>")
    write("layout.erb", "[<%= yield %>]")
    write("list.slim", "/# locals: (name:)\np = name")
    assert_equal 0, render("mail.html.erb", "rows.csv", "a", "--no-escape", "--layout", path("layout.erb")).first
    assert_equal ["[Dear <a> ()]"], files("a").values
    assert_equal 0, render("page.txt", "rows.csv", "b", "--engine", "erb", "--locals", "name, row").first
    assert_equal({"000001.txt" => "= <a>"}, files("b"))
    assert_equal 0, render("list.slim", "rows.csv", "c").first
    assert_equal ["<p>&lt;a&gt;</p>"], files("c").values
  end

  def test_partials_and_helpers_in_the_template_and_its_layout
    write("rows.csv", "name,price\nAda,7\nBob,9\n")
    write("page.html.erb", "<%= render 'line', name: name, price: price %>")
    write("layout.html.erb", "<%= render 'shared/head' %><%= yield %><%= euros(1) %>")
    write("helpers.rb", "module RenderTestMoney\n  def euros(price) = \"\#{price} €\"\nend\nmodule RenderTestLoud\n  def loud(text) = text.upcase\nend\n")
    write("partials/_line.html.erb", "<%# locals: (name:, price:) -%>\n<%= loud(name) %>: <%= euros(price) %>;")
    write("partials/shared/head.html.slim", "b Prices")
    options = ["--layout", path("layout.html.erb"), "--partials", path("partials"), "--trim", "-",
               "--helpers", "#{path("helpers.rb")}:RenderTestMoney,RenderTestLoud"]
    assert_equal [0, "2 files in #{path("out")}\n", ""], render("page.html.erb", "rows.csv", "out", *options)
    assert_equal ["<b>Prices</b>ADA: 7 €;1 €", "<b>Prices</b>BOB: 9 €;1 €"], files("out").values
  end

  def test_partials_and_helpers_that_there_are_not
    write("rows.csv", "name\na\n")
    write("page.erb", "<%= render 'lien' %>")
    write("partials/line.erb", "x")
    write("helpers.rb", "module RenderTestOther; end\nRENDER_TEST_NUMBER = 1")
    status, out, err = render("page.erb", "rows.csv", "out", "--partials", path("partials"))
    assert_equal [1, "0 files in #{path("out")}, 1 failed\n"], [status, out]
    assert_match(/row 1: .*no partial lien; did you mean line\?/m, err)
    {["--partials", path("nowhere")] => "no templates in", ["--helpers", "#{path("nowhere.rb")}:Money"] => "no file",
     ["--helpers", "#{path("helpers.rb")}:RenderTestOhter"] => "did you mean RenderTestOther",
     ["--helpers", "#{path("helpers.rb")}:RENDER_TEST_NUMBER"] => "helpers must be modules"}.each do |options, message|
      status, _, err = render("page.erb", "rows.csv", "out", *options)
      assert_equal [2, true], [status, err.include?(message)], err
    end
  end

  # What a list from a spreadsheet may have: a quote in the middle of a field.
  def test_csv_that_cannot_be_read_to_its_end
    write("rows.csv", %(name\na\nb"c\nd\n))
    status, out, err = render("mail.html.erb", "rows.csv", "out")
    assert_equal [1, "1 file in #{path("out")}, 1 failed\n"], [status, out]
    assert_match(/row 2: Illegal quoting in line 3\. The rows after it are not read\./, err)
  end

  def test_dates_in_yaml
    write("rows.yaml", "- {name: Ada, First Name: 2026-11-24}\n- {name: Bob, First Name: 2026-11-24 10:00:00 Z}\n")
    assert_equal [0, "2 files in #{path("out")}\n", ""], render("mail.html.erb", "rows.yaml", "out")
    assert_equal ["Dear Ada (2026-11-24)", "Dear Bob (2026-11-24 10:00:00 UTC)"], files("out").values
  end

  def test_names_of_columns_that_there_are_not
    write("rows.jsonl", %({"name": "a", "id": 1}\n{"name": "b"}\n))
    status, out, err = render("mail.html.erb", "rows.jsonl", "out", "--locals", "name,row", "--name", "{number}-{id}.html")
    assert_equal [1, "1 file in #{path("out")}, 1 failed\n", ["000001-1.html"]], [status, out, files("out").keys]
    assert_includes err, "row 2: its name needs id, which the row does not have"
    _, _, err = render("mail.html.erb", "rows.jsonl", "out", "--name", "{nmae}.html")
    assert_includes err, "row 1: its name needs nmae, which the row does not have; did you mean name?"
  end

  def test_patterns_that_can_name_no_file
    write("rows.csv", "name\na\n")
    ["", "{name", "name}.html", "{}.html", "{{name}}", "{name}/index.html", "a\0b"].each do |pattern|
      status, _, err = render("mail.html.erb", "rows.csv", "out", "--name", pattern)
      assert_equal [2, true], [status, err.start_with?("guildhall: --name is a file's name, with")], pattern
    end
    refute_path_exists path("out")
  end

  def test_a_folder_that_cannot_be_made
    write("rows.csv", "name\na\n")
    status, _, err = render("mail.html.erb", "rows.csv", "rows.csv")
    assert_equal [2, true], [status, err.start_with?("guildhall: --out #{path("rows.csv")}: File exists")], err
  end

  def test_wrong_usage
    write("rows.csv", "name\na\n")
    write("rows.xls", "")
    [["mail.html.erb", "nope.csv", "no file"], ["mail.html.erb", "rows.xls", "rows come in"], ["nope.erb", "rows.csv", "no template"]].each do |template, data, message|
      status, _, err = render(template, data, "out")
      assert_equal [2, true], [status, err.include?(message)], err
    end
    {[] => "a template is needed", ["x.erb"] => "--out DIR is needed", ["x.erb", "--out", "o"] => "--data FILE is needed"}.each do |arguments, message|
      status, _, err = run_cli("render", *arguments)
      assert_equal [2, true], [status, err.include?(message)], err
    end
    ["usage: guildhall render TEMPLATE [options]", "--data FILE"].each { |words| assert_includes run_cli("render", "--help")[1], words }
  end

  def test_a_bar_where_somebody_looks
    write("rows.csv", "name\na\nb\n")
    assert_equal 0, render("mail.html.erb", "rows.csv", "out", "--progress").first # no terminal: nothing is drawn, and nothing breaks
  end

  private

  def path(name) = File.join(@folder, name)

  def write(name, text)
    FileUtils.mkdir_p(File.dirname(path(name)))
    File.write(path(name), text)
  end

  def files(folder) = Dir.children(path(folder)).sort.to_h { |name| [name, File.read(path("#{folder}/#{name}"))] }

  def render(template, data, out, *) = run_cli("render", path(template), "--data", path(data), "--out", path(out), *)

  def run_cli(*arguments)
    out = StringIO.new
    err = StringIO.new
    status = Guildhall::CLI.new(out:, err:).run(arguments)
    [status, out.string, err.string]
  end
end
