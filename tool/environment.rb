# frozen_string_literal: true

require "rbconfig"

# Where things are for the Ruby that runs this file, and the environment that a command needs to find them.
module Environment
  ROOT = File.expand_path("..", __dir__)
  # One folder a Ruby, so that switching between Rubies needs no clean. The path of the executable is in the
  # name because two builds of one version need not share an ABI.
  SANITIZER = ENV.fetch("GUILDHALL_SANITIZE", "")
  # GUILDHALL_PORTABLE=1: built from what every system has, as on one that is not Linux.
  PORTABLE = ENV.key?("GUILDHALL_PORTABLE")
  # GUILDHALL_COUNT=1: what the extensions do can be counted (test/support/work_count.c).
  COUNT = ENV.key?("GUILDHALL_COUNT")
  KEY = ["ruby", RUBY_VERSION, RUBY_PLATFORM, RbConfig.ruby.sum(32).to_s(36), *(SANITIZER unless SANITIZER.empty?),
         *("portable" if PORTABLE), *("count" if COUNT)].join("-")
  BUILD = File.join(ROOT, "build", KEY)
  # Says no more than "the one in the root", but stands where each Ruby has a lock file of its own beside it.
  GEMFILE = File.join(BUILD, "Gemfile")
  LIBRARY = File.join(BUILD, "lib")
  EXTENSIONS = {"guildhall" => "guildhall/native", "guildhall_kafka" => "guildhall/kafka/native"}.freeze
  WEBHOOKS = File.join(ROOT, "vendor", "webhooks")

  # @return [Hash{String=>String}] what a child process needs to load Guildhall from this checkout
  def self.variables
    {
      "PATH" => [RbConfig::CONFIG["bindir"], *ENV["PATH"]&.split(":")].uniq.join(":"),
      "BUNDLE_GEMFILE" => GEMFILE,
      "BUNDLE_PATH" => ENV.fetch("BUNDLE_PATH", File.join(ROOT, "vendor", "bundle")),
      "BUNDLE_LOCKFILE" => nil,
      "BUNDLE_VERSION" => "system", # each Ruby's own Bundler: no download, no restart
      "RUBYLIB" => [File.join(ROOT, "lib"), LIBRARY, *ENV["RUBYLIB"]&.split(":")].uniq.join(":"),
      "RUBYOPT" => ["-rbundler/setup", *ENV["RUBYOPT"]&.split].uniq.join(" ")
    }
  end

  # @param extension [String] a key of EXTENSIONS
  # @return [String] the path of the compiled extension
  def self.shared_object(extension)
    File.join(LIBRARY, "#{EXTENSIONS.fetch(extension)}.#{RbConfig::CONFIG["DLEXT"]}")
  end

  # @return [Array<String>] the C sources and headers an extension is built from
  def self.sources(extension)
    Dir[File.join(ROOT, "ext", extension, "**", "*.{c,h,rb}")] + Dir[File.join(ROOT, "ext/guildhall/include/**/*.h")]
  end
end
