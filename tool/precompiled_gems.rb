# frozen_string_literal: true

require "digest"
require "etc"
require "fileutils"
require "open3"
require "rubygems/target_rbconfig"
require "tmpdir"
require_relative "built_gems"
require_relative "environment"

# Gems with compiled extensions, for one platform and all Rubies that Guildhall supports: lib/guildhall/3.4/native.so beside
# lib/guildhall/4.0/native.so; Guildhall::Extension loads the one of the Ruby that runs. {.compile} is called once with each Ruby, then
# {.pack}. For another platform, the rbconfig.rb of a Ruby for it names compiler and headers (tool/cross_ruby.sh builds one); that Ruby has
# the version of the one that runs this.
class PrecompiledGems
  VERSIONS = %w[3.4 4.0].freeze # what Guildhall::RUBIES allows
  # gem => its extension, and where its library is loaded from
  EXTENSIONS = {"guildhall" => %w[guildhall lib/guildhall], "guildhall-kafka" => %w[guildhall_kafka lib/guildhall/kafka]}.freeze
  COMPILED = File.join(Environment::ROOT, "build", "precompiled")
  # What the libraries may ask of a Linux: RubyGems cannot tell an older C library, on which they would not load.
  GLIBC = Gem::Version.new("2.34")
  LIBRARIES = /\A(?:libc|libm|libpthread|ld-linux.*|libc\.musl.*)\.so/
  # What would make others of the libraries.
  ENVIRONMENT = %w[RUBYOPT RUBYLIB BUNDLER_SETUP CONFIGURE_ARGS MAKEFLAGS GUILDHALL_PORTABLE GUILDHALL_SANITIZE GUILDHALL_COUNT]
    .to_h { |name| [name, nil] }.freeze
  Failed = BuiltGems::Failed

  # Compiles both extensions into build/precompiled/PLATFORM/VERSION.
  # @param rbconfig [String, nil] the rbconfig.rb of a Ruby for another platform; nil: for this one
  # @return [String] the platform
  def self.compile(rbconfig = nil)
    target = rbconfig ? Gem::TargetRbConfig.from_path(rbconfig) : Gem::TargetRbConfig.for_running_ruby
    platform = platform(target["arch"])
    folder = File.join(COMPILED, platform, target["MAJOR"] + "." + target["MINOR"])
    FileUtils.rm_rf(folder)
    EXTENSIONS.each_value { |extension, _| new(target, extension).compile(FileUtils.mkdir_p(folder).first) }
    File.write(File.join(folder, "sources"), sources)
    platform
  end

  # @param platform [String] such as "x86_64-linux-gnu"
  # @param folder [String] where the gems go
  # @param compiled [String] what {.compile} has filled
  # @return [Array<String>] their paths
  # @raise [Failed] the libraries of a version are not there, or not of these sources
  def self.pack(platform, folder, compiled = COMPILED)
    missing = missing(platform, compiled)
    if missing.any?
      raise Failed, "nothing compiled of these sources for #{platform}, Ruby #{missing.join(" and ")}: bin/rake precompiled:compile with it"
    end

    EXTENSIONS.map { |name, (extension, library)| pack_gem(name, File.join(compiled, platform), extension, library, folder) }
  end

  # @return [Array<String>] versions of Ruby for which nothing is compiled, or not of these sources
  def self.missing(platform, compiled = COMPILED)
    VERSIONS.reject do |version|
      mark = File.join(compiled, platform, version, "sources")
      File.exist?(mark) && File.read(mark) == sources
    end
  end

  # @return [Array<String>] for which something has been compiled
  def self.platforms = Dir.children(FileUtils.mkdir_p(COMPILED).first).sort

  # What {.compile} compiles, and what with.
  def self.sources
    files = [__FILE__, *EXTENSIONS.each_value.flat_map { |extension, _| Environment.sources(extension) }.uniq.sort]
    Digest::SHA256.hexdigest(files.map { |path| File.binread(path) }.join)
  end

  # @param arch [String] as rbconfig.rb names it
  def self.platform(arch) = arch.sub(/-linux\z/, "-linux-gnu").sub(/(darwin)\d+\z/, '\1')

  # Built in a folder of its own, so that nothing compiled lies in the checkout. The headers stay: guildhall-kafka is compiled with them
  # where its own gem has no library.
  def self.pack_gem(name, compiled, extension, library, folder)
    specification = BuiltGems.specification(name).dup # RubyGems gives the same one again
    Dir.mktmpdir do |stage|
      kept = specification.files.grep_v(%r{\Aext/(?!.*/include/)})
      kept.each { |path| copy(File.join(Environment::ROOT, path), File.join(stage, path)) }
      libraries = VERSIONS.map do |version|
        found = Dir[File.join(compiled, version, "#{extension}.*")].fetch(0)
        "#{library}/#{version}/native#{File.extname(found)}".tap { |path| copy(found, File.join(stage, path)) }
      end
      specification.files = [*kept, *libraries]
      specification.extensions = []
      specification.platform = Gem::Platform.new(File.basename(compiled))
      specification.required_ruby_version = [">= #{VERSIONS.first}", "< #{VERSIONS.last.succ}.a"] # no other Ruby has a library here
      BuiltGems.package(specification, stage, folder)
    end
  end

  def self.copy(from, to)
    FileUtils.mkdir_p(File.dirname(to))
    FileUtils.cp(from, to)
  end
  private_class_method :pack_gem, :copy

  # @param target [Gem::TargetRbConfig]
  # @param extension [String]
  def initialize(target, extension)
    @target = target
    @extension = extension
  end

  # @param folder [String] gets EXTENSION.so
  def compile(folder)
    Dir.mktmpdir do |work|
      options = ["--target-rbconfig=#{@target.path}"] if @target.path
      run(RbConfig.ruby, File.join(Environment::ROOT, "ext", @extension, "extconf.rb"), *options, chdir: work)
      run("make", "-j#{Etc.nprocessors}", *variables, chdir: work)
      built = File.join(work, "native.#{@target["DLEXT"]}")
      run(*@target["STRIP"].split, built, chdir: work)
      check_paths(built, work)
      check_needed(built) if @target["target_os"].start_with?("linux")
      FileUtils.cp(built, File.join(folder, "#{@extension}.#{@target["DLEXT"]}"))
    end
  end

  private

  # Not linked to libruby, which a Ruby that is one file has not. No path of this machine (LIBPATH has that of its libruby), so that whoever
  # compiles gets the same bytes, and no folder is searched that is somebody else's on another machine.
  def variables
    no_id = " -Wl,--build-id=none" if @target["target_os"].start_with?("linux") # one of the folder that it is compiled in
    ["CC=#{@target["CC"]} -ffile-prefix-map=#{Environment::ROOT}=guildhall#{no_id}",
     "LIBRUBYARG_SHARED=#{"-Wl,-undefined,dynamic_lookup" if @target["target_os"].start_with?("darwin")}", "LIBRUBYARG_STATIC=", "LIBPATH="]
  end

  def check_paths(library, work)
    found = [Environment::ROOT, work].select { |path| File.binread(library).include?(path) }
    raise Failed, "#{@extension} for #{@target["arch"]} contains paths of this machine: #{found.join(", ")}" if found.any?
  end

  def check_needed(library)
    dynamic = run("readelf", "--dynamic", library)
    needed = dynamic.scan(/\(NEEDED\).*\[(.+)\]/).flatten.grep_v(LIBRARIES)
    raise Failed, "#{@extension} for #{@target["arch"]} needs #{needed.join(", ")}, which is not on every machine" if needed.any?

    searched = dynamic[/\((?:RPATH|RUNPATH)\).*\[(.+)\]/, 1]
    raise Failed, "#{@extension} for #{@target["arch"]} looks for libraries in #{searched}, a folder of this machine" if searched

    newest = run("readelf", "--version-info", library).scan(/\bGLIBC_([\d.]+)/).flatten.map { |version| Gem::Version.new(version) }.max
    raise Failed, "#{@extension} for #{@target["arch"]} needs glibc #{newest}: compile it where glibc is older" if newest && newest > GLIBC
  end

  def run(*command, chdir: Environment::ROOT)
    output, status = Open3.capture2e(ENVIRONMENT, *command, chdir:)
    raise Failed, "failed: #{command.join(" ")}\n#{output}" unless status.success?

    output
  rescue Errno::ENOENT
    raise Failed, "there is no #{command.first} to compile gems with; on Debian: apt-get install gcc make libc6-dev"
  end
end
