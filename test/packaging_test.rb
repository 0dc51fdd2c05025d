# frozen_string_literal: true

require "test_helper"
require "rubygems/package"
require "tmpdir"

# Both gems as a user gets them: built, installed into an empty GEM_HOME, used from outside the checkout.
class PackagingTest < GuildhallTest
  ROOT = File.expand_path("..", __dir__)
  SPECIFICATIONS = %w[guildhall guildhall-kafka].to_h do |name|
    [name, Gem::Specification.load(File.join(ROOT, "#{name}.gemspec"))]
  end
  USE = <<~'RUBY'
    require "guildhall"
    require "guildhall/kafka"
    queue = Guildhall::Queue.new(2)
    queue.push(Guildhall::JSON.decode('{"from": "an installed gem"}'))
    puts queue.pop["from"], Guildhall::Kafka.name
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
    core, kafka = SPECIFICATIONS.values.map(&:files)
    assert_equal ["LICENSE.txt"], core & kafka
    ours = Dir.chdir(ROOT) { Dir["{lib,sig,ext}/**/*.{rb,rbs,c,h}", "docs/*.md", "examples/*.rb", "README*.md"] - ["examples/demo.rb"] }
    assert_empty ours - core - kafka
    assert_empty((core + kafka).reject { |path| File.exist?(File.join(ROOT, path)) })
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

  def test_installed_gems_work_outside_the_checkout
    Dir.mktmpdir do |home|
      install(home)
      out, err, status = outside(home, [RbConfig.ruby, "-e", USE])
      assert_predicate status, :success?, err
      assert_equal ["an installed gem", "Guildhall::Kafka"], out.lines(chomp: true)
      out, err, status = outside(home, [RbConfig.ruby, File.join(home, "bin/guildhall"), "version"])
      assert_predicate status, :success?, err
      assert_equal "guildhall #{Guildhall::VERSION}\n", out
    end
  end

  private

  def install(home)
    gems = SPECIFICATIONS.map do |name, specification|
      path = File.join(home, "#{name}.gem")
      Dir.chdir(ROOT) { Gem::DefaultUserInteraction.use_ui(Gem::SilentUI.new) { Gem::Package.build(specification, false, false, path) } }
      path
    end
    command = [RbConfig.ruby, "-S", "gem", "install", "--local", "--no-document", *gems]
    out, err, status = outside(home, command, timeout: 300)
    assert_predicate status, :success?, out + err
  end

  # Without Bundler and without this checkout: only the gems that ours depend on can be found.
  def outside(home, command, timeout: 60)
    environment = {"GEM_HOME" => home, "GEM_PATH" => [home, *Gem.path].join(":"), "RUBYLIB" => nil, "RUBYOPT" => nil,
                   "BUNDLE_GEMFILE" => nil}
    run_command(command, env: environment, timeout:, chdir: home)
  end
end
