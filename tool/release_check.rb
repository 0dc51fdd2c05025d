# frozen_string_literal: true

require "open3"
require "rbconfig"
require "tmpdir"
require_relative "bill_of_materials"
require_relative "built_gems"
require_relative "environment"
require_relative "../benchmark/support/report"
require_relative "../test/support/guide"

# What a release has to pass: the gems are built into pkg/, installed into an empty GEM_HOME, run their READMEs from a folder outside
# the checkout, and do in a generated Rails application what its developer does (test/integration/rails/tour.rb). Rails is downloaded where
# it is not there; nothing else is.
class ReleaseCheck
  ROOT = BuiltGems::ROOT
  RAILS = "8.1"
  Failed = BuiltGems::Failed

  # @return [Boolean]
  def run
    Dir.mktmpdir("release") do |home|
      @gems = BuiltGems.new(File.realpath(home))
      step("version") { check_version }
      step("figures") { check_figures }
      paths = BuiltGems::NAMES.map { |name| step("build #{name}") { build(name) } }
      step(BillOfMaterials::SUMS) { BillOfMaterials.write(paths) && nil }
      step("install") { [@gems.install(paths), nil] }
      step("guildhall version") { [outside(File.join(@gems.home, "bin/guildhall"), "version"), nil] }
      %w[README.md README-kafka.md README-tools.md README-web.md].each { |name| step(name) { run_page(Guide.new(File.join(ROOT, name))) } }
      step("Rails #{RAILS}") { rails }
    end
    true
  rescue Failed => error
    warn(error.message)
    false
  end

  private

  def step(name)
    print "  #{name} … "
    result, note = yield
    puts note || "ok"
    result
  end

  def check_version
    version = BuiltGems.specification("guildhall").version.to_s
    entry = /^## #{Regexp.escape(version)} - \d{4}-\d\d-\d\d$/
    changes = File.read(File.join(ROOT, "CHANGELOG.md"), encoding: "UTF-8")
    raise Failed, "CHANGELOG.md has no entry for #{version}" unless changes.match?(entry)

    [version, version]
  end

  def check_figures
    wrong = Bench::Report.new([]).stale.keys | Bench::Figures.all_by_hand.keys
    raise Failed, "figures that are not those of benchmark/results: #{wrong.join(", ")}; bin/rake figures" if wrong.any?
  end

  def build(name)
    path = BuiltGems.build(name, File.join(ROOT, "pkg"))
    [path, "#{BuiltGems.specification(name).files.size} files, #{File.size(path) / 1024} KB"]
  end

  def run_page(guide)
    path = File.join(@gems.home, "page.rb")
    File.write(path, guide.program)
    outside(path)
    [nil, "#{guide.run.size} snippets"]
  end

  # The tour itself runs in the checkout, which has the embedded broker; the application that it makes knows only the built gems.
  def rails
    command = [RbConfig.ruby, File.join(ROOT, "test/integration/rails/tour.rb"), RAILS]
    output, status = Open3.capture2e(Environment.variables.merge("BUILT_GEMS" => @gems.home), *command)
    raise Failed, "failed: #{command.join(" ")}\n#{output}" unless status.success?

    [nil, output.lines.last.chomp]
  end

  def outside(*) = @gems.run(RbConfig.ruby, *)
end
