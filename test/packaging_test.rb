# frozen_string_literal: true

require "test_helper"
require "support/file_references"
require "support/installed_gems"
require "fileutils"
require "tmpdir"
require_relative "../tool/bill_of_materials"
require_relative "../tool/environment"
require_relative "../tool/precompiled_gems"

# The gems as a user gets them: built, installed into an empty GEM_HOME, used from outside the checkout.
class PackagingTest < GuildhallTest
  ROOT = File.expand_path("..", __dir__)
  SPECIFICATIONS = BuiltGems::NAMES.to_h { |name| [name, BuiltGems.specification(name)] }
  # What a file looks for beside itself only in a checkout, and says so.
  IN_A_CHECKOUT = ["ext/guildhall_kafka/extconf.rb: ../guildhall/include"].freeze
  WITHOUT_TOOLS = <<~'RUBY'
    require "guildhall"
    require "guildhall/cli"
    [-> { Guildhall.doctor(Guildhall::JSON) }, -> { Guildhall::LeakCheck.snapshot }].each do |attempt|
      attempt.call
    rescue Guildhall::MissingDependencyError => error
      puts error.message
    end
    p(%w[advise doctor].map { |name| Guildhall::CLI.new(err: $stdout).run([name]) })
  RUBY
  USE = <<~'RUBY'
    require "guildhall"
    require "guildhall/kafka"
    queue = Guildhall::Queue.new(2)
    queue.push(Guildhall::JSON.decode('{"from": "an installed gem"}'))
    puts queue.pop["from"], Guildhall::Kafka.name, Guildhall.doctor(Guildhall::JSON).verdict
    puts $LOADED_FEATURES.grep(%r{/guildhall/}).grep_v(/\A#{Regexp.escape(ENV.fetch("GEM_HOME"))}/)
  RUBY

  def test_core_depends_on_nothing
    assert_empty SPECIFICATIONS["guildhall"].runtime_dependencies
  end

  def test_each_gem_says_where_it_comes_from
    SPECIFICATIONS.each_value do |specification|
      uris = specification.metadata.values_at("source_code_uri", "changelog_uri", "documentation_uri", "bug_tracker_uri")
      [specification.homepage, *uris].each { |uri| assert_match(%r{\Ahttps://}, uri) }
    end
  end

  def test_each_file_is_in_one_gem
    lists = SPECIFICATIONS.values.map(&:files)
    assert_equal({"LICENSE.txt" => lists.size}, lists.flatten.tally.select { |_, gems| gems > 1 })
    ours = Dir.chdir(ROOT) { Dir["{lib,sig,ext}/**/*.{rb,rbs,c,h}", "docs/*.md", "examples/*.rb", "README*.md"] - ["examples/demo.rb", "docs/tests.md"] }
    assert_empty ours - lists.flatten
    assert_empty(lists.flatten.reject { |path| File.exist?(File.join(ROOT, path)) })
  end

  def test_no_lock_file_and_no_registry_host
    hosts = ["rubygems" + ".org", "npmjs" + ".org", "deb.debian" + ".org"]
    tracked, = run_command(%w[git ls-files])
    refute_includes tracked.lines(chomp: true), "Gemfile.lock"
    tracked.lines(chomp: true).each do |path|
      text = File.binread(File.join(ROOT, path))
      hosts.each { |host| refute text.include?(host), "#{path} names #{host}" }
    end
  end

  # The gems share the folder lib in a checkout, and nowhere else.
  def test_each_gem_has_the_files_that_its_files_name
    missing = SPECIFICATIONS.transform_values { |specification| FileReferences.new(ROOT, specification.files).missing - IN_A_CHECKOUT }
    assert_equal BuiltGems::NAMES.to_h { |name| [name, []] }, missing
  end

  # As somebody else builds them, in another clone with another umask, to compare them with what is published.
  def test_gems_are_the_same_to_the_byte_wherever_they_are_built
    Dir.mktmpdir do |folder|
      clone = File.join(folder, "clone")
      tracked, = run_command(%w[git ls-files])
      (tracked.lines(chomp: true) - ["vendor/webhooks"]).each do |path|
        FileUtils.mkdir_p(File.join(clone, File.dirname(path)))
        FileUtils.cp(File.join(ROOT, path), File.join(clone, path))
        File.chmod(File.executable?(File.join(ROOT, path)) ? 0o775 : 0o660, File.join(clone, path))
      end
      there, here = %w[there here].map { |name| File.join(folder, name) }
      build = <<~RUBY
        require "./tool/precompiled_gems"
        BuiltGems::NAMES.each { |name| BuiltGems.build(name, ARGV.fetch(0)) }
        PrecompiledGems.pack("x86_64-linux-gnu", *ARGV)
      RUBY
      compiled = File.join(folder, "compiled")
      PrecompiledGems::VERSIONS.each { |version| pretend_to_compile(File.join(compiled, "x86_64-linux-gnu", version)) }
      out, err, status = run_command([RbConfig.ruby, "-e", build, there, compiled], env: {"RUBYLIB" => nil, "RUBYOPT" => nil}, chdir: clone)
      assert_predicate status, :success?, out + err
      BuiltGems::NAMES.each { |name| BuiltGems.build(name, here) }
      PrecompiledGems.pack("x86_64-linux-gnu", here, compiled)
      files = Dir.children(here).sort
      assert_equal [6, files], [files.size, Dir.children(there).sort]
      assert_equal(*[here, there].map { |one| files.to_h { |file| [file, Digest::SHA256.file(File.join(one, file)).hexdigest] } })
    end
  end

  def test_bills_of_materials_and_checksums
    Dir.mktmpdir do |folder|
      paths = BuiltGems::NAMES.map { |name| BuiltGems.build(name, folder) }
      BillOfMaterials.write(paths)
      sums = File.readlines(File.join(folder, "SHA256SUMS"), chomp: true).to_h { |line| line.split("  ").reverse }
      assert_equal Dir.children(folder).sort - ["SHA256SUMS"], sums.keys.sort
      sums.each { |name, sum| assert_equal Digest::SHA256.file(File.join(folder, name)).hexdigest, sum }
      web = JSON.parse(File.read(File.join(folder, "guildhall-web-#{Guildhall::VERSION}.cdx.json")))
      assert_equal ["CycloneDX", "1.6", "pkg:gem/guildhall-web@#{Guildhall::VERSION}"], [*web.values_at("bomFormat", "specVersion"), web["metadata"]["component"]["purl"]]
      parts = web["components"].to_h { |part| [part["name"], part["licenses"].map { |one| one["license"]["id"] }] }
      assert_equal({"idiomorph" => ["0BSD"], "guildhall-kafka" => ["MIT"], "rack" => ["MIT"]}, parts)
    end
  end

  # Whoever adds a file of somebody else's adds its licence, and names it in the bill.
  def test_files_of_others_are_named_with_their_licences
    licences = SPECIFICATIONS.transform_values { |specification| specification.files.grep(/\.LICENSE\z/) }
    named = BuiltGems::NAMES.to_h { |name| [name, BillOfMaterials::BUNDLED.fetch(name, {}).keys.map { |file| "#{file.delete_suffix(File.extname(file))}.LICENSE" }] }
    assert_equal named, licences
    assert_equal({"guildhall-web" => %w[MIT 0BSD]}, SPECIFICATIONS.transform_values(&:licenses).reject { |_, ids| ids == ["MIT"] })
  end

  # In the gem, or at an address of the repository.
  def test_links_of_guides_lead_to_a_file
    lost = SPECIFICATIONS.values.flat_map do |specification|
      specification.files.grep(/\.md\z/).flat_map do |path|
        links(path).reject { |link| there?(link, path, specification.files) }.map { |link| "#{specification.name}, #{path}: #{link}" }
      end
    end
    assert_empty lost
  end

  def test_a_file_that_another_gem_has_is_missing
    references = FileReferences.new(ROOT, ["lib/guildhall/kafka/rails.rb", "lib/guildhall/kafka.rb"])
    assert_includes references.missing, "lib/guildhall/kafka/rails.rb: rails/execution"
    refute_includes references.missing, "lib/guildhall/kafka/rails.rb: ../kafka"
  end

  def test_installed_gems_work_outside_the_checkout
    home = InstalledGems.home
    assert_equal ["an installed gem", "Guildhall::Kafka", "runs"], InstalledGems.gems.run(RbConfig.ruby, "-e", USE).lines(chomp: true)
    assert_equal "guildhall #{Guildhall::VERSION}\n", InstalledGems.gems.run(RbConfig.ruby, File.join(home, "bin/guildhall"), "version")
  end

  # Another Ruby, or another C library, than the gem was compiled for; gems can be installed by force.
  def test_a_precompiled_gem_without_a_library_for_this_ruby_says_what_to_do
    Dir.mktmpdir do |folder|
      %w[guildhall guildhall/kafka].each { |path| FileUtils.mkdir_p(%w[3.3 9.9].map { |version| File.join(folder, path, version) }) }
      {"guildhall" => "guildhall", "guildhall-kafka" => "guildhall/kafka"}.each do |gem, path|
        error = assert_raises(LoadError) { Guildhall::Extension.load(gem, File.join(folder, path)) }
        assert_includes error.message, "#{path}/#{RUBY_VERSION[/\A\d+\.\d+/]}/native.so"
        assert_match(/precompiled in this gem, for Ruby 3\.3 and 9\.9\..*`gem uninstall #{gem}` and `gem install --platform ruby #{gem}`/, error.message)
      end
    end
  end

  # What runs with a token of the repository does what was read when it was pinned, and can only read.
  def test_workflows_pin_their_actions_and_may_only_read
    workflows = Dir[File.join(ROOT, ".github/workflows/*.yml")]
    refute_empty workflows
    workflows.each do |path|
      text = File.read(path)
      assert_equal [["contents: read"]], text.scan(/^permissions:\n((?:  .+\n)+)/).map { |(lines)| lines.split("\n").map(&:strip) }, path
      refute_match(/^ +permissions:/, text, path)
      uses = text.scan(/uses: *(.+)/).flatten
      refute_empty uses
      assert_empty(uses.grep_v(%r{\A[\w-]+/[\w-]+@\h{40} # v[\d.]+\z}), path)
    end
  end

  # The libraries of this checkout stand for those of a release; the other Ruby's is not loaded. Where there is no compiler.
  def test_precompiled_gems_have_a_library_for_each_ruby_and_need_no_compiler
    platform = PrecompiledGems.platform(RbConfig::CONFIG["arch"])
    Dir.mktmpdir do |folder|
      compiled, gems, home, programs = %w[compiled gems home bin].map { |name| FileUtils.mkdir_p(File.join(folder, name)).first }
      assert_raises(BuiltGems::Failed) { PrecompiledGems.pack(platform, gems, compiled) }
      PrecompiledGems::VERSIONS.each { |version| pretend_to_compile(File.join(compiled, platform, version)) }
      assert_empty PrecompiledGems.missing(platform, compiled)
      paths = PrecompiledGems.pack(platform, gems, compiled)
      assert_equal %w[guildhall guildhall-kafka].map { |name| "#{name}-#{Guildhall::VERSION}-#{platform}.gem" }, paths.map { |path| File.basename(path) }
      paths.map { |path| Gem::Package.new(path).spec }.each { |specification| check_precompiled(specification, platform) }

      skip "this Ruby has no library in them" unless PrecompiledGems::VERSIONS.include?(RUBY_VERSION[/\A\d+\.\d+/])

      File.symlink(RbConfig.ruby, File.join(programs, "ruby"))
      File.symlink("/bin/sh", File.join(programs, "sh"))
      installed = BuiltGems.new(home)
      env = {"PATH" => programs, "BUNDLER_SETUP" => nil}
      installed.run(RbConfig.ruby, File.join(RbConfig::CONFIG["bindir"], "gem"), "install", "--local", "--no-document", *paths, BuiltGems.build("guildhall-tools", gems), env:)
      assert_equal ["an installed gem", "Guildhall::Kafka", "runs"], installed.run(RbConfig.ruby, "-e", USE, env:).lines(chomp: true)
    end
  end

  def test_a_library_of_other_sources_is_not_packed
    Dir.mktmpdir do |folder|
      PrecompiledGems::VERSIONS.each { |version| pretend_to_compile(File.join(folder, "x86_64-linux-gnu", version)) }
      File.write(File.join(folder, "x86_64-linux-gnu", PrecompiledGems::VERSIONS.last, "sources"), "others")
      assert_equal [PrecompiledGems::VERSIONS.last], PrecompiledGems.missing("x86_64-linux-gnu", folder)
      error = assert_raises(BuiltGems::Failed) { PrecompiledGems.pack("x86_64-linux-gnu", folder, folder) }
      assert_match(/Ruby #{PrecompiledGems::VERSIONS.last}: bin/, error.message)
    end
  end

  # As in production, where the group development is left out: the files of the gem guildhall alone.
  def test_without_the_tools_the_gem_is_named
    Dir.mktmpdir do |folder|
      SPECIFICATIONS["guildhall"].files.grep(%r{\A(?:lib|exe)/}).each do |path|
        FileUtils.mkdir_p(File.join(folder, File.dirname(path)))
        FileUtils.cp(File.join(ROOT, path), File.join(folder, path))
      end
      environment = {"RUBYLIB" => [File.join(folder, "lib"), Environment::LIBRARY].join(":"), "RUBYOPT" => nil, "BUNDLER_SETUP" => nil}
      out, err, = run_command([RbConfig.ruby, "-e", WITHOUT_TOOLS], env: environment, chdir: folder)
      assert_equal [*%w[Doctor LeakCheck].map { |name| "Guildhall::#{name} needs the gem guildhall-tools: add `gem \"guildhall-tools\"` to the Gemfile" },
                    *%w[advise doctor].map { |name| "guildhall: the command #{name} comes with a gem for development: add `gem \"guildhall-tools\"` to the Gemfile" },
                    "[2, 2]"], out.lines(chomp: true), err
    end
  end

  private

  def pretend_to_compile(folder)
    FileUtils.mkdir_p(folder)
    PrecompiledGems::EXTENSIONS.each_value { |extension, _| FileUtils.cp(Environment.shared_object(extension), File.join(folder, "#{extension}.#{RbConfig::CONFIG["DLEXT"]}")) }
    File.write(File.join(folder, "sources"), PrecompiledGems.sources)
  end

  def check_precompiled(specification, platform)
    assert_equal [[], platform], [specification.extensions, specification.platform.to_s]
    refute specification.required_ruby_version.satisfied_by?(Gem::Version.new("4.1.0.dev"))
    PrecompiledGems::VERSIONS.each do |version|
      assert specification.required_ruby_version.satisfied_by?(Gem::Version.new("#{version}.9"))
      assert_equal 1, specification.files.grep(%r{/#{Regexp.escape(version)}/native\.}).size
    end
    assert_empty specification.files.grep(/\.c\z/)
    assert_includes specification.files, "ext/guildhall/include/guildhall/decoder.h" if specification.name == "guildhall"
  end

  def links(path) = File.read(File.join(ROOT, path)).gsub(/^```.*?^```/m, "").scan(/\]\(([^)\s#]+)/).flatten

  def there?(link, path, files)
    address = link[%r{\A#{Regexp.escape(Guildhall::HOMEPAGE)}/(?:blob|tree)/main/(.+)}o, 1]
    return File.exist?(File.join(ROOT, address)) if address
    return true if link.match?(/\A\w+:/)

    target = File.expand_path(link, "/#{File.dirname(path)}").delete_prefix("/")
    files.include?(target) || files.any? { |file| file.start_with?("#{target}/") }
  end
end
