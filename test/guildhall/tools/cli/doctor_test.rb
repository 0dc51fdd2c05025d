# frozen_string_literal: true

require "test_helper"
require "guildhall/cli"
require "json"
require "tmpdir"

# The command, in a process of its own: it loads what its arguments name.
class CLIDoctorTest < GuildhallTest
  FILES = {
    "rates.rb" => "module Rates\n  RATES = {\"EUR\" => 1.1}\n  def self.call(code) = RATES[code]\nend\n",
    "task.rb" => "module Task\n  def self.call(code) = code.downcase\nend\n",
    "app/models/order.rb" => "class Order < Base\n  def total = Totals.of(self)\nend\n",
    "app/models/base.rb" => "class Base\nend\n",
    "app/totals.rb" => "module Totals\n  @cache = {}\n  def self.of(order) = @cache[order]\nend\n",
    "app/broken.rb" => "module Broken\n  include Nowhere\nend\n",
    "app[1]/settings.rb" => "module Settings\n  @all = {}\n  def self.all = @all\nend\n",
    "half/class.rb" => "class Half\n  def x(\n", "raises.rb" => "module Raises\n  raise \"no settings\"\nend\n",
    "noisy.rb" => "puts 'ready'\nmodule Noisy\n  def self.call(code) = code\nend\n",
    "attributes/limits.rb" => "module Limits\n  class << self\n    attr_accessor :all, :none\n  end\n  self.all = {}\nend\n",
    "lib/shop.rb" => "require_relative \"shop/order\"\nrequire_relative \"shop/limits\"\n",
    "lib/shop/order.rb" => "module Shop\n  class Order < Struct.new(:id)\n    def limit = $limit\n  end\nend\n",
    "lib/shop/limits.rb" => "module Shop\n  class Order\n    LIMIT = 1\n  end\nend\n",
    "late.rb" => "raise \"too late\"\n", "ends/ends.rb" => "exit\n", "outer.rb" => "module Outer\n  autoload :Late, File.expand_path(\"late.rb\", __dir__)\nend\n",
    "empty/notes.txt" => "no Ruby\n",
    "payloads.jsonl" => "EUR\nUSD\n", "payloads/1.json" => "EUR"
  }.freeze

  def test_a_constant_of_a_file
    status, out, = doctor("rates.rb:Rates")
    assert_equal 1, status
    assert_match(/\ARates cannot run on workers: 1 finding\n\n  RATES  .*rates\.rb:3\n    is a Hash that is not shareable\n    → make it so/, out)
  end

  def test_what_a_method_of_a_constant_returns
    status, out, = doctor("Guildhall::JSON.lazy")
    assert_equal [0, true], [status, out.include?("nothing was found")], out
  end

  def test_as_json
    status, out, = doctor("rates.rb:Rates", "--json")
    report = ::JSON.parse(out)
    assert_equal [1, "cannot_run", "RATES", 3], [status, report["verdict"], *report["findings"].first.values_at("thing", "line")]
  end

  def test_payloads_are_tried
    %w[payloads.jsonl payloads].each do |path|
      status, out, = doctor("task.rb:Task", "--payloads", path)
      assert_equal 0, status
      assert_match(/tried: \d payloads? in a Ractor, as in the main one/, out)
    end
  end

  # Files that need each other, in whatever order; what cannot be loaded is named.
  def test_a_folder
    status, out, = doctor("app")
    assert_equal 1, status
    assert_match(/@cache of Totals .*totals\.rb:3/, out)
    assert_match(/broken\.rb .*could not be loaded: uninitialized constant Broken::Nowhere \(NameError, .*broken\.rb:2\); name what it needs with -r/, out)
  end

  # Loaded in another order, the class of limits.rb is another one.
  def test_a_folder_with_a_file_that_loads_the_rest
    out = doctor("lib")[1]
    assert_match(/\$limit .*order\.rb:3/, out)
    refute_match(/could not be loaded/, out)
  end

  def test_a_folder_with_a_file_that_is_no_ruby
    assert_match(/class\.rb .*could not be loaded: .*syntax errors found: .*\(SyntaxError\); correct it$/, doctor("half")[1])
  end

  def test_a_folder_whose_name_is_a_pattern
    assert_match(/Settings/, doctor("app[1]")[1])
  end

  def test_a_folder_with_a_file_that_ends_the_process
    status, out, = doctor("ends")
    assert_equal 0, status
    assert_match(/ends\.rb .*could not be loaded: it ends the process/, out)
  end

  def test_a_gem
    status, out, = doctor("simdjson")
    assert_equal 1, status
    assert_match(/simdjson\n +is written in C.*\n +→ use Guildhall::JSON/, out)
    assert_equal 0, doctor("oj").first
  end

  # Most of it is loaded when it is first named.
  def test_a_gem_with_autoloads
    status, out, = doctor("rack")
    assert_equal 0, status
    assert_match(/@default_query_parser of Rack::Utils .*is a Rack::QueryParser that is not shareable/, out)
  end

  def test_what_a_file_prints_is_not_among_the_results
    status, out, err = doctor("noisy.rb:Noisy", "--json")
    assert_equal [0, "runs", "ready\n"], [status, ::JSON.parse(out)["verdict"], err]
  end

  # Nobody reads it in there, and somebody will.
  def test_attributes_of_modules
    status, out, = doctor("attributes")
    assert_equal 1, status
    assert_match(/: 1 finding\n\n  @all of Limits .*limits\.rb:3\n    is a Hash that is not shareable/, out)
  end

  # Its file has another name.
  def test_a_gem_is_named_as_in_the_gemfile
    status, out, = doctor("activesupport")
    assert_equal [1, true], [status, out.include?("use Guildhall::JSON")], out
  end

  def test_a_gem_with_blocks_forwarding_and_modules_without_a_name
    status, out, err = doctor("dry-types")
    assert_equal [0, true], [status, out.include?("dry-types may fail on workers")], err
  end

  def test_wrong_use
    {[] => "is needed", ["no_such_gem"] => "no gem no_such_gem", ["rates.rb"] => "name one, as rates.rb:Constant",
     ["rates.rb:Rate"] => "no constant Rate in rates.rb; did you mean Rates?", ["none.rb:X"] => "no file none.rb",
     ["rates.rb:Rates", "--stress", "4"] => "stress needs payloads", ["rates.rb:Rates", "--payloads", "nowhere"] => "no file or folder nowhere",
     ["raises.rb:Raises"] => "raises.rb could not be loaded: no settings (RuntimeError, ", ["outer.rb:Outer::Late"] => "Outer::Late could not be loaded: too late",
     ["ends/ends.rb:Ends"] => "ends/ends.rb could not be loaded: it ends the process", ["outer.rb:Outer::Lat"] => "no constant Outer::Lat in outer.rb",
     ["empty"] => "no Ruby files in empty", ["no-such-gem"] => "no gem no-such-gem", ["no/folder"] => "no folder no/folder",
     ["rates.rb:Rates::RATES", "--payloads", "payloads.jsonl"] => "is not a task"}
      .each do |arguments, message|
        status, _, err = doctor(*arguments)
        assert_equal [2, true], [status, err.include?(message)], err
      end
  end

  private

  def doctor(*arguments)
    Dir.mktmpdir do |folder|
      FILES.each do |name, code|
        FileUtils.mkdir_p(File.dirname(File.join(folder, name)))
        File.write(File.join(folder, name), code)
      end
      out, err, status = run_forked(["guildhall/cli"], File.join(WarningsRaise::ROOT, "exe/guildhall"), "doctor", *arguments, chdir: folder)
      [status.exitstatus, out, err]
    end
  end
end
