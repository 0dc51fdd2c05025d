# frozen_string_literal: true

require "fileutils"
require "open3"
require "rbconfig"
require "rubygems/package"

# The gems as users get them: built, and installed into an empty GEM_HOME. Gems that ours depend on come from this machine; nothing is
# downloaded.
class BuiltGems
  ROOT = File.expand_path("..", __dir__)
  NAMES = %w[guildhall guildhall-kafka guildhall-tools guildhall-web].freeze
  # RubyGems 4.1 (its snapshots) takes each `require_relative "../…"` for one of an extension.
  MISTAKEN = Gem::SpecificationPolicy.private_method_defined?(:validate_extension_require_relative)
  # A command has failed; the message has its output.
  class Failed < StandardError; end

  # @param name [String]
  # @return [Gem::Specification]
  def self.specification(name) = Dir.chdir(ROOT) { Gem::Specification.load("#{name}.gemspec") }

  # What `gem build` would only warn of is an error, unless RubyGems is mistaken. The same files make the same bytes with the same RubyGems:
  # it has one time for all files (SOURCE_DATE_EPOCH, or its own), and modes, which depend on the umask of who has cloned, are made equal.
  # @param name [String]
  # @param folder [String]
  # @return [String] the gem's path
  def self.build(name, folder) = package(specification(name), ROOT, folder)

  # @param specification [Gem::Specification]
  # @param root [String] where its files are
  # @param folder [String]
  # @return [String] the gem's path
  def self.package(specification, root, folder)
    path = File.join(File.expand_path(folder), specification.file_name)
    FileUtils.mkdir_p(folder)
    specification.files.each { |file| File.chmod(File.executable?(File.join(root, file)) ? 0o755 : 0o644, File.join(root, file)) }
    Dir.chdir(root) { Gem::DefaultUserInteraction.use_ui(Gem::SilentUI.new) { Gem::Package.build(specification, false, !MISTAKEN, path) } }
    path
  end

  # @return [String] the GEM_HOME
  attr_reader :home

  # @param home [String] an empty folder
  def initialize(home)
    @home = home
  end

  # Compiles both extensions; ccache, where the compiler is one, knows sources that it has compiled in another folder.
  # @param paths [Array<String>]
  # @return [self]
  def install(paths = NAMES.map { |name| BuiltGems.build(name, home) })
    env = {"CCACHE_BASEDIR" => home, "CCACHE_NOHASHDIR" => "1"}
    run(RbConfig.ruby, "-S", "gem", "install", "--local", "--no-document", *paths, env:)
    self
  end

  # @return [Hash{String=>String, nil}] for a process that finds these gems, and neither Bundler nor the checkout
  def variables
    {"GEM_HOME" => home, "GEM_PATH" => [home, *Gem.path].uniq.join(":"), "RUBYLIB" => nil, "RUBYOPT" => nil, "BUNDLE_GEMFILE" => nil,
     "BUNDLE_LOCKFILE" => nil, "BUNDLER_SETUP" => nil}
  end

  # @param command [Array<String>]
  # @param env [Hash{String=>String}] beside its variables
  # @param chdir [String] where it runs
  # @return [String] its output
  # @raise [Failed]
  def run(*command, env: {}, chdir: home)
    output, status = Open3.capture2e({**variables, **env}, *command, chdir:)
    raise Failed, "failed: #{command.join(" ")}\n#{output}" unless status.success?

    output
  end
end
