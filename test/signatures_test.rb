# frozen_string_literal: true

require "test_helper"

# What the signatures declare is there, every part has signatures, and every setting has one.
class SignaturesTest < GuildhallTest
  SCRIPT = <<~'RUBY'
    require "rbs"
    require "guildhall"
    %w[csv yaml cli tools tools/cli web web/cli advisor advisor/page chart doctor leak_check leak_check/minitest karafka kafka kafka/cli kafka/health kafka/testing
       kafka/metrics/statsd kafka/metrics/prometheus kafka/metrics/open_telemetry].each { |part| require "guildhall/#{part}" }

    loader = RBS::EnvironmentLoader.new
    loader.add(library: "timeout", version: nil)
    loader.add(path: Pathname("sig"))
    builder = RBS::DefinitionBuilder.new(env: RBS::Environment.from_loader(loader).resolve_type_names)
    missing = ->(definition, name, there) { definition.methods.select { |_, method| method.defined_in == name }.keys - there }
    errors = []
    left_to_subclasses = %w[Guildhall::JSON::Document#each Guildhall::Kafka::Consumer#consume]

    walk = lambda do |constant, path|
      name = RBS::TypeName.parse("::#{path}")
      next unless builder.env.class_decls.key?(name)

      there = constant.instance_methods + constant.private_instance_methods
      errors.concat(missing.call(builder.build_instance(name), name, there).map { |method| "#{path}##{method}" })
      there = constant.methods + constant.private_methods
      errors.concat(missing.call(builder.build_singleton(name), name, there).map { |method| "#{path}.#{method}" })
      constant.constants(false).each do |child|
        value = constant.const_get(child)
        walk.call(value, "#{path}::#{child}") if value.is_a?(Module) && value.name == "#{path}::#{child}"
      end
    end
    walk.call(Guildhall, "Guildhall")
    errors -= left_to_subclasses
    errors.map! { |method| "#{method} is declared, but not there" }

    signatures = ->(type) { builder.build_instance(RBS::TypeName.parse("::#{type}")).methods.select { |_, method| method.defined_in.to_s == "::#{type}" } }
    check_methods = lambda do |type, names|
      errors.concat((names - signatures.call(type).keys).map { |name| "#{type}##{name} has no signature in sig/" })
    end
    check_keywords = lambda do |type, method, keywords|
      types = signatures.call(type)[method]&.method_types.to_a.map(&:type)
      declared = types.flat_map { |one| one.required_keywords.keys + one.optional_keywords.keys }
      errors.concat((keywords - declared).map { |keyword| "the signature of #{type}##{method} in sig/ lacks #{keyword}:" })
    end

    kafka = Guildhall::Kafka
    routing = kafka::Routing
    [routing::TopicBuilder, routing::GroupBuilder, routing::ScheduleBuilder].each { |type| check_methods.call(type, type.callable_names) }
    check_methods.call(kafka::Config, kafka::Config.settings.names.flat_map { |name| [name, :"#{name}="] })
    check_methods.call(Guildhall::Karafka::Settings, Guildhall::Karafka::Settings.public_instance_methods(false))
    pool = Guildhall::Pool::Settings.public_instance_methods(false)
    check_methods.call(Guildhall::Pool::Settings, pool)
    check_keywords.call(Guildhall::Pool::Settings, :initialize, pool)

    filters = kafka::Filtering::BUILT_IN.reject { |filter| filter.parts.one? } # the only part is no keyword
    tables = {routing::TopicBuilder => [*routing::Topic.settings, *filters], routing::GroupBuilder => routing::Multiplexing.settings}
    tables.each do |type, settings|
      written = settings.flat_map { |one| one.parts ? one.parts.map { |part| part.written || [one.name, part.name] } : [one.written].compact }
      written.select { |_, keyword| keyword.is_a?(Symbol) }.group_by(&:first).each { |method, pairs| check_keywords.call(type, method, pairs.map(&:last)) }
    end

    parts = Guildhall.constants.select { |name| Guildhall.const_get(name).is_a?(Module) }
    signed = [*builder.env.class_decls.keys, *builder.env.class_alias_decls.keys]
    unsigned = parts.reject { |name| signed.include?(RBS::TypeName.parse("::Guildhall::#{name}")) }
    puts errors, unsigned.map { |name| "Guildhall::#{name} has no signature" }
  RUBY

  def test_match_the_code
    errors = assert_ruby(SCRIPT)
    assert_empty errors, errors
  end
end
