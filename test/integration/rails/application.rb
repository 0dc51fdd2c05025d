# frozen_string_literal: true

require "fileutils"
require "open3"
require "rbconfig"
require_relative "../../support/gem_installation"

# A Rails application that `rails new` has generated, with a Gemfile of its own: the Rails that is asked for, and both gems: those of this
# checkout, or built ones that are installed in a GEM_HOME (see tool/built_gems.rb). Its commands are processes of their own, run as a developer would.
class GeneratedApplication
  VERSIONS = {"8.1" => "8.1.4.1", "8.0" => "8.0.5.2", "7.2" => "7.2.4"}.freeze
  PARTS = %w[railties activerecord activejob actionpack actionview activemodel activesupport].freeze
  OTHERS = {"karafka-rdkafka" => "0.31.0", "sqlite3" => "2.10.2", "puma" => "8.0.2", "minitest" => "5.27.0",
            "rspec-rails" => "8.0.4", "prometheus-client" => "5.0.0", "dogstatsd-ruby" => "5.7.1",
            "json" => "~> 2.10"}.freeze # Active Support before 8.1 needs an older json than the newest
  LEFT_OUT = %w[action-mailer active-storage action-mailbox action-text action-cable javascript hotwire jbuilder system-test bootsnap
                dev-gems solid kamal docker ci rubocop brakeman thruster asset-pipeline git keeps bundle bundler-audit].freeze
  class Failed < StandardError; end

  attr_reader :root

  # @param folder [String] an empty one
  # @param version [String] a key of VERSIONS
  # @param built [BuiltGems, nil] installed ones; nil: the checkout
  def initialize(folder, version, built: nil)
    @folder = folder
    @built = built
    @root = File.join(folder, "shop")
    @version = VERSIONS.fetch(version)
    @gemfile = File.join(folder, "Gemfile")
  end

  # What is installed already is not asked for again. What is missing goes where the checkout's gems are, beside built gems, too.
  def bundle = GemInstallation.alone { install_what_is_missing }

  def create
    run(RbConfig.ruby, "-W0", "-e", "load Gem.bin_path('railties', 'rails')", "new", "shop", "--quiet", *LEFT_OUT.map { |part| "--skip-#{part}" },
      chdir: @folder)
    raise Failed, "rails new has made nothing" unless File.exist?(File.join(@root, "config/environment.rb"))
  end

  # @param command [Array<String>] below the application's root
  # @return [String] standard output
  # @yield instead of an error
  def run(*command, chdir: @root, bundled: true, env: {})
    out, err, status = Open3.capture3(variables(bundled).merge(env), *command, chdir:, stdin_data: "")
    return out if status.success?
    return yield if block_given?

    raise Failed, "#{command.join(" ")}: #{status}\n#{out}\n#{err}"
  end

  # @return [Integer] the process, whose output goes to the file
  def spawn(*command, log:, env: {})
    Process.spawn(variables.merge(env), *command, chdir: @root, out: log, err: %i[child out], in: File::NULL, pgroup: true)
  end

  def ruby(*) = run(RbConfig.ruby, "-W0", *)
  def rails(*) = ruby("bin/rails", *)

  def write(path, text)
    path = File.join(@root, path)
    FileUtils.mkdir_p(File.dirname(path))
    File.write(path, text)
  end

  def append(path, text) = write(path, File.read(File.join(@root, path)) + text)

  def edit(path)
    file = File.join(@root, path)
    text = File.read(file)
    changed = yield(text)
    raise Failed, "#{path} has nothing to change" if changed == text

    File.write(file, changed)
  end

  private

  def install_what_is_missing
    File.write(@gemfile, gemfile(ours))
    install("--local") do
      if @built
        built = @built
        @built = nil
        File.write(@gemfile, gemfile([]))
        install
        @built = built
        File.write(@gemfile, gemfile(ours))
        FileUtils.rm_f("#{@gemfile}.lock")
      end
      install(*("--local" if @built))
    end
  end

  def install(*, &) = run(File.join(RbConfig::CONFIG["bindir"], "bundle"), "install", "--quiet", *, chdir: @folder, bundled: false, &)

  def ours
    %w[guildhall guildhall-kafka guildhall-web].map { |name| @built ? "gem #{name.dump}" : "gem #{name.dump}, path: #{Environment::ROOT.dump}" }
  end

  def gemfile(ours)
    versions = {**PARTS.to_h { |part| [part, @version] }, **OTHERS}
    ["source Gem.sources.first.uri.to_s", *ours,
     *versions.map { |name, version| "gem #{name.dump}, #{version.dump}, require: false" }].join("\n")
  end

  def variables(bundled = true) # rubocop:disable Style/OptionalBooleanParameter
    own = {"BUNDLE_GEMFILE" => @gemfile, "RUBYOPT" => bundled ? "-rbundler/setup" : nil, "BUNDLER_SETUP" => nil, "BUNDLE_WITHOUT" => nil,
           "CI" => nil, "RAILS_ENV" => nil, "SECRET_KEY_BASE_DUMMY" => "1"}
    # Built gems are the system's for Bundler, and so is what the checkout has installed.
    home = @built ? {**@built.variables, "BUNDLE_PATH" => nil, "BUNDLE_PATH__SYSTEM" => "true"} : {}
    Environment.variables.merge(home, own)
  end
end
