# frozen_string_literal: true

require "fileutils"
require "open3"
require "rbconfig"
require "tmpdir"
require_relative "bill_of_materials"
require_relative "built_gems"
require_relative "environment"
require_relative "precompiled_gems"
require_relative "site"
require_relative "../benchmark/support/report"
require_relative "../test/support/guide"

# What a release has to pass. The changelog has its entry, and nothing that is not released; figures, signatures, generated pages and guides
# are as the code and what was measured; the site builds. The gems are built into pkg/, installed into an empty GEM_HOME, run their READMEs
# from a folder outside the checkout, and do in a generated Rails application what its developer does (test/integration/rails/tour.rb). They
# are installed once more from a folder of files alone, without a network; the precompiled ones also without a compiler. All are built once
# more from a clone of the commit, to the same bytes. Rails and what makes the site are downloaded where they are not there; nothing else
# is. A check that fails does not keep the others from running.
class ReleaseCheck
  ROOT = BuiltGems::ROOT
  RAILS = "8.1"
  # What says that generated pages, signatures and examples are as the code: test file => pattern of its tests.
  TESTS = {"signatures" => ["test/signatures_test.rb"], "public API" => ["test/api_test.rb"],
           "settings and rights" => ["test/guildhall/kafka/config_test.rb", "-n", "/test_the_guide_has_the_tables/"],
           "metrics" => ["test/guildhall/kafka/metrics/dashboards_test.rb"], "guides" => ["test/guides_test.rb"]}.freeze
  PAGES = %w[README.md README-kafka.md README-tools.md README-web.md].freeze
  # Where nothing answers.
  NO_NETWORK = {"http_proxy" => "http://127.0.0.1:9", "https_proxy" => "http://127.0.0.1:9"}.freeze
  USE = <<~'RUBY'
    require "guildhall"
    require "guildhall/kafka"
    require "guildhall/web"
    require "guildhall/tools"
    library = $LOADED_FEATURES.grep(%r{/kafka/(?:\d\.\d/)?native\.\w+\z})
    puts Guildhall.pool.map(Array.new(1000) { |id| %({"id":#{id}}) }, Guildhall::JSON).sum { |order| order["id"] }, library.grep_v(/\.rb\z/)
    Guildhall.pool.shutdown
  RUBY
  # In a clone: the folder for the gems, then platforms of precompiled ones. What this Ruby compiles is compiled again.
  AGAIN = <<~'RUBY'
    require "./tool/precompiled_gems"
    folder, *platforms = ARGV
    BuiltGems::NAMES.each { |name| BuiltGems.build(name, folder) }
    PrecompiledGems.compile if platforms.any?
    platforms.each { |platform| PrecompiledGems.pack(platform, folder) }
  RUBY
  Failed = BuiltGems::Failed

  # @return [Boolean]
  def run
    @failures = []
    Dir.mktmpdir("release") do |home|
      @gems = BuiltGems.new(FileUtils.mkdir_p(File.join(File.realpath(home), "home")).first)
      @folder = File.realpath(home)
      check_sources
      step("site") { Site.new.build }
      check_gems if (@paths = step("build") { build })
    end
    warn(@failures) if @failures.any?
    @failures.empty?
  end

  private

  def check_sources
    step("version") { version }
    step("figures") { figures }
    TESTS.each { |name, arguments| step(name) { test(*arguments) } }
  end

  def check_gems
    if step("install") { @gems.install(@paths) && "4 gems into an empty GEM_HOME" }
      step("guildhall version") { outside(File.join(@gems.home, "bin/guildhall"), "version").chomp }
      PAGES.each { |name| step(name) { run_page(Guide.new(File.join(ROOT, name))) } }
      step("Rails #{RAILS}") { rails }
    end
    step("install offline, and with Bundler") { offline(@paths) }
    step("precompiled gems") { precompiled_gems }
    step("install precompiled, without a compiler") { offline(@paths.drop(2) + @precompiled, compiler: false) } if @precompiled
    step("the same to the byte from a clone") { same_bytes }
  end

  # @return [Object, nil] what the block says of itself; nil: it has failed
  def step(name)
    print "  #{name} … "
    yield.tap { |note| puts note.is_a?(String) ? note : "ok" }
  rescue Failed, Site::Failed => error
    puts "FAILED"
    @failures << "#{name}: #{error.message}"
    nil
  end

  def version
    version = BuiltGems.specification("guildhall").version.to_s
    changes = File.read(File.join(ROOT, "CHANGELOG.md"), encoding: "UTF-8")
    raise Failed, "CHANGELOG.md has no entry for #{version}" unless changes.match?(/^## #{Regexp.escape(version)} - \d{4}-\d\d-\d\d$/)

    unreleased = changes[/^## Unreleased$(.*?)(?=^## |\z)/m, 1].to_s.strip
    raise Failed, "CHANGELOG.md has changes below Unreleased: give them the number and date of #{version}" unless unreleased.empty?

    tags = git("tag", "--points-at", "HEAD", "v*").split
    raise Failed, "the commit has the tag #{tags.join(", ")}, not v#{version}" unless tags.empty? || tags.include?("v#{version}")

    version
  end

  def figures
    wrong = Bench::Report.new([]).stale.keys | Bench::Figures.all_by_hand.keys
    raise Failed, "figures that are not those of benchmark/results: #{wrong.join(", ")}; bin/rake figures" if wrong.any?
  end

  def test(*arguments)
    output, status = Open3.capture2e(Environment.variables, RbConfig.ruby, File.join(ROOT, "test/run.rb"), *arguments, chdir: ROOT)
    raise Failed, output unless status.success?

    output[/^\d+ runs?, .*/]
  end

  def build
    paths = BuiltGems::NAMES.map { |name| BuiltGems.build(name, File.join(ROOT, "pkg")) }
    BillOfMaterials.write(paths)
    print(paths.map { |path| "#{File.basename(path)} #{File.size(path) / 1024} KB" }.join(", "), " … ")
    paths
  end

  def run_page(guide)
    path = File.join(@folder, "page.rb") # what lies in GEM_HOME is a gem's for the doctor
    File.write(path, guide.program)
    outside(path)
    "#{guide.run.size} snippets"
  end

  # The tour itself runs in the checkout, which has the embedded broker; the application that it makes knows only the built gems.
  def rails
    command = [RbConfig.ruby, File.join(ROOT, "test/integration/rails/tour.rb"), RAILS]
    output, status = Open3.capture2e(Environment.variables.merge("BUILT_GEMS" => @gems.home), *command)
    raise Failed, "failed: #{command.join(" ")}\n#{output}" unless status.success?

    output.lines.last.chomp
  end

  # Into an empty GEM_HOME that sees no other, from a folder with the files alone.
  def offline(paths, compiler: true)
    home = BuiltGems.new(Dir.mktmpdir("home", @folder))
    path = compiler ? ENV.fetch("PATH") : File.dirname(RbConfig.ruby)
    env = {**NO_NETWORK, "GEM_PATH" => home.home, "PATH" => path}
    files = Dir.mktmpdir("files", @folder)
    FileUtils.cp([*paths, *needed], files)
    home.run(RbConfig.ruby, gem, "install", "--local", "--no-document", *Dir.children(files), env:, chdir: files)
    found = home.run(RbConfig.ruby, "-W0", "-e", USE, env:).lines(chomp: true)
    raise Failed, "1000 payloads gave #{found.first}, not 499500" unless found.first == "499500"

    wanted = compiler ? "/kafka/native" : "/kafka/#{RUBY_VERSION.to_f}/native"
    raise Failed, "loaded #{found.last}, not #{wanted}" unless found.last.include?(wanted)

    home.run(RbConfig.ruby, File.join(home.home, "bin/guildhall"), "info", env:)
    bundle(home, env)
    "#{paths.size} gems of ours, #{needed.size} others"
  end

  def gem = File.join(RbConfig::CONFIG["bindir"], "gem")

  # As an application that names all four.
  def bundle(home, env)
    folder = Dir.mktmpdir("application", @folder)
    File.write(File.join(folder, "Gemfile"), "source \"http://127.0.0.1:9\"\n#{BuiltGems::NAMES.map { |name| "gem #{name.dump}\n" }.join}")
    env = {**env, "BUNDLE_GEMFILE" => File.join(folder, "Gemfile"), "BUNDLE_PATH" => nil}
    bundler = File.join(RbConfig::CONFIG["bindir"], "bundle")
    home.run(RbConfig.ruby, bundler, "install", "--local", env:, chdir: folder)
    home.run(RbConfig.ruby, bundler, "exec", RbConfig.ruby, "-W0", "-e", USE, env:, chdir: folder)
  end

  # The files of the gems that ours depend on, as they were downloaded.
  def needed
    @needed ||= begin
      found = []
      left = BuiltGems::NAMES.flat_map { |name| BuiltGems.specification(name).runtime_dependencies }
      while (dependency = left.shift)
        next if BuiltGems::NAMES.include?(dependency.name) || found.any? { |specification| specification.name == dependency.name }

        found << dependency.to_spec
        left.concat(found.last.runtime_dependencies)
      end
      files = found.reject { |specification| comes_with_ruby?(specification.name) }.map(&:cache_file)
      lost = files.reject { |file| File.exist?(file) }
      raise Failed, "not there: #{lost.join(", ")}; `gem fetch` brings them" if lost.any?

      files
    end
  end

  def comes_with_ruby?(name) = Dir[File.join(Gem.default_dir, "specifications/default/#{name}-[0-9]*.gemspec")].any?

  # With the libraries of the other Rubies, where they have been compiled.
  def precompiled_gems
    platform = PrecompiledGems.platform(RbConfig::CONFIG["arch"])
    PrecompiledGems.compile if PrecompiledGems.missing(platform).include?(RUBY_VERSION[/\A\d+\.\d+/])
    missing = PrecompiledGems.missing(platform)
    return "left out: nothing compiled for #{platform}, Ruby #{missing.join(" and ")} (RUBY=… bin/rake precompiled:compile)" if missing.any?

    @precompiled = PrecompiledGems.pack(platform, File.join(ROOT, "pkg"))
    BillOfMaterials.write(@paths + @precompiled)
    "#{platform}, Ruby #{PrecompiledGems::VERSIONS.join(" and ")}"
  end

  # As somebody else builds them: later, elsewhere, with another umask and time zone, and with nothing but what is committed.
  def same_bytes
    clone, there = %w[clone there].map { |name| File.join(@folder, name) }
    git("clone", "--quiet", ROOT, clone, umask: 0o077)
    platforms = @precompiled.to_a.map { |path| Gem::Package.new(path).spec.platform.to_s }.uniq
    platforms.each { |platform| FileUtils.cp_r(File.join(PrecompiledGems::COMPILED, platform), FileUtils.mkdir_p("#{clone}/build/precompiled").first) }
    env = {"CCACHE_DISABLE" => "1", "TZ" => "Pacific/Kiritimati", "LC_ALL" => "C", "RUBYLIB" => nil, "RUBYOPT" => nil}
    output, status = Open3.capture2e(env, RbConfig.ruby, "-e", AGAIN, there, *platforms, chdir: clone, umask: 0o077)
    raise Failed, "a clone of the commit does not build:\n#{output}" unless status.success?

    paths = @paths + @precompiled.to_a
    others = paths.reject { |path| FileUtils.identical?(path, File.join(there, File.basename(path))) }.map { |path| File.basename(path) }
    return "#{paths.size} gems" if others.empty?

    changes = git("status", "--short")
    raise Failed, "a clone of the commit makes other bytes of #{others.join(", ")}#{"; not committed:\n#{changes}" unless changes.empty?}"
  end

  def git(*arguments, **)
    output, status = Open3.capture2e("git", "-C", ROOT, *arguments, **)
    status.success? ? output : raise(Failed, "failed: git #{arguments.join(" ")}\n#{output}")
  end

  def outside(*) = @gems.run(RbConfig.ruby, *)
end
