# frozen_string_literal: true

# Gems, extensions and webhooks for the Ruby that runs this file; with `--then SCRIPT ARG…` it goes on as that
# script. Runs without RubyGems loaded, because most of the time there is nothing to do.
require "rbconfig"
require "fileutils"
require_relative "environment"

# Does what is missing, step by step; each step is marked when it is complete and only then.
class Setup
  DEMO = "examples/demo.rb"
  SHOWN_EVERY_SECONDS = 30 # where there is no terminal
  LEAST_SPACE = 8 << 20 # bytes; any step takes more
  FREE = "there is no space left; free about 1 GB where the checkout is, and where gems go (BUNDLE_PATH, if it is set)"

  # @param script [String, nil] what comes afterwards
  def initialize(script)
    @demo = script == DEMO
    ENV["BUNDLE_WITHOUT"] = "development" if @demo
  end

  def run
    check_headers
    install_gems
    build_extensions
    fetch_webhooks
  rescue Errno::ENOSPC, Errno::EDQUOT => error
    abort("guildhall: #{error.message}: #{FREE}")
  rescue Errno::EACCES, Errno::EROFS, Errno::EPERM => error
    abort("guildhall: #{error.message}: everything is built within the checkout, so use one that you may write to; no root is needed")
  end

  private

  def install_gems
    wanted = gem_definition
    if installed?(:all, wanted)
      ENV.delete("BUNDLE_WITHOUT") if @demo # nothing is left out then
      return
    end
    return if @demo && installed?(:demo, wanted)

    FileUtils.mkdir_p(Environment::BUILD)
    File.write(Environment::GEMFILE, "eval_gemfile #{File.join(Environment::ROOT, "Gemfile").dump}\n")
    step("gems", [ruby_tool("bundle"), "install", "--quiet"], Environment.variables.merge("RUBYOPT" => nil),
      "is a gem registry reachable? `gem sources` shows which one is used")
    File.write(stamp(@demo ? :demo : :all), wanted)
  end

  # The demo needs a handful of gems, the tests and benchmarks many more.
  def installed?(gems, wanted)
    File.exist?(stamp(gems)) && File.exist?(Environment::GEMFILE) && File.read(stamp(gems)) == wanted
  end

  def stamp(gems) = File.join(Environment::BUILD, "gems-#{gems}.done")

  # Lock files belong to the machine: pinned versions stand in the Gemfile, and each Ruby resolves its own.
  def gem_definition
    files = Dir[File.join(Environment::ROOT, "{Gemfile,*.gemspec,lib/guildhall/version.rb}")]
    [*files.map { |path| File.read(path) }, Environment.variables["BUNDLE_PATH"]].join
  end

  def build_extensions
    Environment::EXTENSIONS.each_key do |extension|
      next if current?(extension)

      check_compiler

      step("extension #{extension}",
        [RbConfig.ruby, "-rbundler/setup", File.join(__dir__, "rake.rb"), "--silent", "compile:#{extension}"],
        Environment.variables.merge("RUBYOPT" => nil), "is a C compiler there? On Debian: apt-get install gcc make libc6-dev")
    end
  end

  def current?(extension)
    built = Environment.shared_object(extension)
    File.exist?(built) && Environment.sources(extension).all? { |source| File.mtime(source) <= File.mtime(built) }
  end

  def fetch_webhooks
    {"@octokit/webhooks-examples" => "7.6.1", "@octokit/webhooks-schemas" => "7.6.1"}.each do |package, version|
      target = File.join(Environment::WEBHOOKS, File.basename(package))
      next if File.directory?(target)

      download_package("#{package}@#{version}", target)
    end
  end

  # Unpacked beside its place and moved there in one step: what is there is whole.
  def download_package(package, target)
    staging = "#{target}.part"
    FileUtils.rm_rf(staging)
    FileUtils.mkdir_p(staging)
    unpack = "npm pack --silent '#{package}' && tar -xzf *.tgz --strip-components=1 && rm *.tgz"
    step("#{package} from the npm registry", ["sh", "-c", unpack], {},
      "is npm installed (apt-get install npm) and its registry reachable?", chdir: staging)
    File.rename(staging, target)
  end

  def step(name, command, variables, advice, chdir: Environment::ROOT)
    FileUtils.mkdir_p(Environment::BUILD)
    log = File.join(Environment::BUILD, "setup.log")
    began = now
    pid = spawn(variables, *command, chdir:, in: File::NULL, out: log, err: %i[child out])
    await(pid, name, began)
    return if $?.success?

    warn(File.read(log)) if ENV["CI"] # the file cannot be read there afterwards
    advice = FREE if full?
    abort("guildhall: #{name} failed; #{advice} (what happened: #{log})")
  rescue Errno::ENOENT => error
    abort("guildhall: #{name} failed (#{error.message}); #{advice}")
  rescue Interrupt
    Process.kill(:TERM, pid) if pid
    exit(130)
  end

  # Compilers and Bundler do not always say that a disk is full, and the log may be on that disk.
  def full?
    [Environment::BUILD, Environment.variables["BUNDLE_PATH"]].select { |folder| File.directory?(folder) }.any? do |folder|
      probe = File.join(folder, "space.#{Process.pid}")
      File.write(probe, "." * LEAST_SPACE)
      false
    rescue Errno::ENOSPC, Errno::EDQUOT
      true
    ensure
      FileUtils.rm_f(probe)
    end
  end

  def await(pid, name, began)
    shown = began - SHOWN_EVERY_SECONDS
    until Process.wait(pid, Process::WNOHANG)
      if $stderr.tty? then $stderr.print("\r", line(name, began))
      elsif now - shown >= SHOWN_EVERY_SECONDS
        warn(line(name, began))
        shown = now
      end
      sleep(0.1)
    end
    warn("#{"\r" if $stderr.tty?}#{line(name, began)}, done")
  end

  def line(name, began) = "  set-up: #{name} … #{(now - began).round} s"

  def now
    Process.clock_gettime(Process::CLOCK_MONOTONIC)
  end

  def ruby_tool(name)
    File.join(RbConfig::CONFIG["bindir"], name)
  end

  def check_compiler
    compiler = RbConfig::CONFIG["CC"].split.first
    missing = [compiler, "make"].reject { |program| found?(program) }
    return if missing.empty?

    abort("guildhall: no #{missing.join(" and no ")} to build the extensions with; on Debian: apt-get install gcc make libc6-dev")
  end

  def found?(program)
    [*ENV["PATH"]&.split(":")].any? { |folder| File.executable?(File.join(folder, program)) } || File.executable?(program)
  end

  def check_headers
    return if File.exist?(File.join(RbConfig::CONFIG["rubyhdrdir"], "ruby.h"))

    abort("guildhall: #{RbConfig.ruby} has no headers to build extensions with; on Debian: apt-get install ruby-dev")
  end
end

USAGE = "usage: bin/setup\nBuilds or fetches what is missing; RUBY=/path/to/ruby picks the Ruby."
if ["--help", "-h"].include?(ARGV.first)
  puts USAGE
  exit
elsif ARGV.any? && ARGV.first != "--then"
  warn("bin/setup: unknown argument #{ARGV.first}", USAGE)
  exit(2)
end
Setup.new(ARGV.first == "--then" ? ARGV[1] : nil).run
if ARGV.first == "--then"
  script, *rest = ARGV.drop(1)
  exec(Environment.variables, RbConfig.ruby, File.expand_path(script, Environment::ROOT), *rest)
end
