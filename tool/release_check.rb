# frozen_string_literal: true

require "fileutils"
require "open3"
require "rbconfig"
require "rubygems/package"
require "tmpdir"
require_relative "../test/support/guide"

# What a release has to pass: both gems are built into pkg/, installed into an empty GEM_HOME, and run both READMEs from a folder outside
# the checkout. Gems that ours depend on come from this machine; nothing is downloaded.
class ReleaseCheck
  ROOT = File.expand_path("..", __dir__)
  # A step has failed; the message has its output.
  class Failed < StandardError; end

  # @return [Boolean]
  def run
    Dir.mktmpdir("release") do |home|
      @home = home
      step("version") { check_version }
      gems = %w[guildhall guildhall-kafka].map { |name| step("build #{name}") { build(name) } }
      step("install") { outside(["-S", "gem", "install", "--local", "--no-document", *gems]) }
      step("guildhall version") { outside([File.join(home, "bin/guildhall"), "version"]) }
      %w[README.md README-kafka.md].each { |name| step(name) { run_page(Guide.new(File.join(ROOT, name))) } }
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
    version = specification("guildhall").version.to_s
    entry = /^## #{Regexp.escape(version)} - \d{4}-\d\d-\d\d$/
    changes = File.read(File.join(ROOT, "CHANGELOG.md"), encoding: "UTF-8")
    raise Failed, "CHANGELOG.md has no entry for #{version}" unless changes.match?(entry)

    [version, version]
  end

  # Strict: what `gem build` would only warn of is an error.
  def build(name)
    path = File.join(ROOT, "pkg", specification(name).file_name)
    FileUtils.mkdir_p(File.dirname(path))
    Dir.chdir(ROOT) { Gem::DefaultUserInteraction.use_ui(Gem::SilentUI.new) { Gem::Package.build(specification(name), false, true, path) } }
    [path, "#{specification(name).files.size} files, #{File.size(path) / 1024} KB"]
  end

  def specification(name) = Dir.chdir(ROOT) { Gem::Specification.load("#{name}.gemspec") }

  def run_page(guide)
    path = File.join(@home, "page.rb")
    File.write(path, guide.program)
    outside([path])
    [nil, "#{guide.run.size} snippets"]
  end

  # Without Bundler and without the checkout.
  def outside(arguments)
    environment = {"GEM_HOME" => @home, "GEM_PATH" => [@home, *Gem.path].join(":"), "RUBYLIB" => nil, "RUBYOPT" => nil,
                   "BUNDLE_GEMFILE" => nil}
    output, status = Open3.capture2e(environment, RbConfig.ruby, *arguments, chdir: @home)
    raise Failed, "failed: #{arguments.join(" ")}\n#{output}" unless status.success?
  end
end
