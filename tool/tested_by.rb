# frozen_string_literal: true

require_relative "environment"

# The page docs/tests.md: for each file of lib its own test, or the tests that run most of its lines, from the last `bin/test --coverage`.
class TestedBy
  FOLDER = File.join(Environment::BUILD, "coverage")
  PAGE = File.join(Environment::ROOT, "docs/tests.md")
  SHOWN = 3 # tests a file
  # What runs when a file is loaded, also of those that the tests' own process does not load.
  LOAD_ALL = <<~'RUBY'
    Dir[File.join(ARGV.fetch(0), "guildhall{.rb,/**/*.rb}")].sort.each do |path|
      require path
    rescue Exception # without a framework that it needs, or another file before it
      nil
    end
  RUBY

  # @param folder [String] with what processes have written: see LineCoverage
  def initialize(folder = FOLDER)
    @lines = Hash.new { |hash, path| hash[path] = Hash.new { |tests, test| tests[test] = [] } } # of lib => test => lines
    @sizes = Hash.new(0)
    load_all(folder)
    Dir[File.join(folder, "*")].each do |path|
      test, lines, sizes = Marshal.load(File.binread(path))
      lines.each { |file, indexes| @lines[file][test] |= indexes }
      sizes.each { |file, count| @sizes[file] = [@sizes[file], count].max }
    end
  end

  # @return [Array<Array(String, Integer, Array)>] file, percent of its lines that tests run, and tests with the percent that each runs;
  #   of lines that do not run when the file is loaded
  def rows
    Dir.glob("lib/**/*.rb", base: Environment::ROOT).sort.map do |file|
      tests = @lines[file]
      loaded = tests.fetch("loaded", [])
      size = @sizes[file] - loaded.size
      run = tests.except("loaded").transform_values { |lines| lines - loaded }.reject { |_, lines| lines.empty? }
      shares = run.transform_values { |lines| percent(lines.size, size) || 0 }.sort_by { |test, share| [-share, test] }
      [file, percent(run.values.reduce([], :|).size, size), shares]
    end
  end

  def write
    File.write(PAGE, <<~MARKDOWN)
      # Which tests run which file

      Made by `bin/test --coverage && bin/rake tests:table`; do not edit. A test stands at the path of what it tests. A file without a test of
      its own is tested through the tests named here: those that run most of its lines, with the share of its lines that each runs. Lines that
      run when a file is loaded are not counted; a file that has no others shows no share. C is not in the table: its tests are those of the
      Ruby class that it belongs to.

      | file | all tests | its own test | others, first those that run most |
      |---|---|---|---|
      #{rows.map { |file, all, tests| row(file, all, tests) }.join("\n")}
    MARKDOWN
  end

  private

  def load_all(folder)
    environment = Environment.variables.merge("COVERAGE_FOLDER" => folder)
    coverage = File.join(__dir__, "line_coverage.rb")
    system(environment, RbConfig.ruby, "-W0", "-r", coverage, "-e", LOAD_ALL, File.join(Environment::ROOT, "lib"), out: File::NULL, err: File::NULL)
  end

  # @return [String, nil] nil where there are no lines
  def percent(part, all) = all.positive? ? (100.0 * part / all).round : nil

  def own(file) = file.sub(%r{\Alib/(.+)\.rb\z}, 'test/\1_test.rb')

  def row(file, all, tests)
    own = File.exist?(File.join(Environment::ROOT, own(file)))
    others = tests.reject { |test,| test == own(file) }.first(SHOWN).map { |test, share| "#{test.delete_prefix("test/")} #{share} %" }
    "| #{file.delete_prefix("lib/")} | #{"#{all} %" if all} | #{own ? "yes" : "–"} | #{others.join(", ")} |"
  end
end
