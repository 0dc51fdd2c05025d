# frozen_string_literal: true

# Writes the tables of docs/api.md: what semantic versioning covers. Run it with: bin/rake api
require "rbs"
require "yard"
require "guildhall"

# The public API: modules that Ruby reaches from Guildhall, and whose docs do not say `@api private`, nor those of a module around them.
# Each has a signature in sig/, and what counts of it are the methods that stand there.
class PublicAPI
  PARTS = %w[csv yaml protobuf templates encryption schema_registry active_record cli tools tools/cli web web/cli advisor doctor leak_check
             leak_check/minitest karafka kafka kafka/cli kafka/testing kafka/metrics/statsd kafka/metrics/prometheus
             kafka/metrics/open_telemetry].freeze
  ROOT = File.expand_path("..", __dir__)
  PAGE = File.join(ROOT, "docs/api.md")
  # Guides for those who change the code, which name what is private.
  ABOUT_THE_CODE = %w[architecture native_code collectors].map { |name| "docs/#{name}.md" }.freeze

  def initialize
    PARTS.each { |part| require "guildhall/#{part}" }
    YARD::Logger.instance.level = YARD::Logger::ERROR
    YARD.parse(File.join(ROOT, "lib/**/*.rb")) if YARD::Registry.all.empty? # takes seconds
    loader = RBS::EnvironmentLoader.new
    loader.add(library: "timeout", version: nil)
    loader.add(path: Pathname(File.join(ROOT, "sig")))
    @signatures = RBS::Environment.from_loader(loader).resolve_type_names
    @builder = RBS::DefinitionBuilder.new(env: @signatures)
    @modules = reachable(Guildhall, "Guildhall").reject { |name| private?(name) }.sort
  end

  # @return [Array<String>] constants of which nothing says whether they are public
  def undecided
    constants = @modules.flat_map { |name| values(Object.const_get(name), name) }.reject { |name| private?(name) }
    unsigned = @modules.reject { |name| class?(name) } + constants.reject { |name| @signatures.constant_decls.key?(type(name)) }
    unsigned.map { |name| "#{name} is neither in sig/ nor `@api private` or private_constant" }
  end

  # @return [String] the page as it should be
  def page
    tables = {"Classes and methods" => classes, "Events" => events, "Commands" => commands}
    File.read(PAGE).split(/^(?=## )/).map do |section|
      table = tables[section[/\A## (.*)/, 1]]
      table ? section.sub(/^\|.*\|\n(?:\|.*\n)*/) { "#{table.join("\n")}\n" } : section
    end.join
  end

  # @return [Array<String>] constants that Markdown names to readers and that are not public
  def private_names(text)
    text.gsub(/<!--.*?-->/m, "").scan(/\bGuildhall(?:::[A-Z]\w*)+/).uniq.select { |name| private?(name) && YARD::Registry.at(name) }
  end

  private

  def type(name) = RBS::TypeName.parse("::#{name}")
  def class?(name) = @signatures.class_decls.key?(type(name)) || @signatures.class_alias_decls.key?(type(name))

  # @return [Array<String>] the nearest that says something decides
  def private?(name)
    found = YARD::Registry.at(name)
    said = found&.tag(:api)&.text || (found&.visibility == :private ? "private" : nil)
    return said == "private" if said

    name.include?("::") && private?(name.rpartition("::").first)
  end

  def reachable(constant, name)
    [name, *constant.constants(false).flat_map do |child|
      value = constant.const_get(child)
      path = "#{name}::#{child}"
      value.is_a?(Module) && value.name == path ? reachable(value, path) : []
    end]
  end

  def values(constant, name)
    constant.constants(false).reject { |child| constant.const_get(child).is_a?(Module) }.sort.map { |child| "#{name}::#{child}" }
  end

  def classes
    rows = @modules.select { |name| @signatures.class_decls.key?(type(name)) }.map do |name|
      constants = values(Object.const_get(name), name).reject { |path| private?(path) }.map { |path| path[/\w+\z/] }
      names = [*constants, *methods(name, :build_singleton, "."), *methods(name, :build_instance, "#")]
      "| `#{name}` | #{names.map { |one| "`#{one}`" }.join(" ")} |"
    end
    ["| class or module | constants, methods of the class, methods of its objects |", "|---|---|", *rows]
  end

  def methods(name, build, mark)
    found = @builder.public_send(build, type(name)).methods.select { |_, one| one.public? && one.defined_in == type(name) }.keys
    found.delete(:initialize)
    found.map { |one| "#{mark}#{one}" }.reject { |one| private?("#{name}#{one}") }.sort
  end

  def events
    ["| event | payload |", "|---|---|", *Guildhall::Kafka::Events::DESCRIPTIONS.map { |name, text| "| `#{name}` | #{text} |" }]
  end

  def commands
    all = Guildhall::CLI.new.commands.flat_map { |command| command <= Guildhall::CLI::Family ? command.commands : [command] }
    rows = all.map do |command|
      one = command.new(out: $stdout, err: $stderr, cli: nil)
      options = one.long_options - ["--help"]
      arguments = command.arguments if command <= Guildhall::CLI::Command # `probe` is none: it loads nothing but sockets
      usage = ["guildhall", command.command_name, *arguments].join(" ").gsub("|", "\\|")
      "| `#{usage}` | #{options.map { |one| "`#{one}`" }.join(" ")} |"
    end
    ["| command | options |", "|---|---|", *rows]
  end
end

if $PROGRAM_NAME == __FILE__
  api = PublicAPI.new
  abort(api.undecided.join("\n")) if api.undecided.any?
  File.write(PublicAPI::PAGE, api.page)
end
