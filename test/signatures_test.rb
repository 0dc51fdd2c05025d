# frozen_string_literal: true

require "test_helper"

# What the signatures declare is there, and every part has signatures.
class SignaturesTest < GuildhallTest
  SCRIPT = <<~'RUBY'
    require "rbs"
    require "guildhall"
    %w[csv yaml cli tools tools/cli advisor advisor/page chart doctor leak_check leak_check/minitest kafka kafka/cli kafka/health kafka/testing
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

    parts = Guildhall.constants.select { |name| Guildhall.const_get(name).is_a?(Module) }
    unsigned = parts.reject { |name| builder.env.class_decls.key?(RBS::TypeName.parse("::Guildhall::#{name}")) }
    puts errors, unsigned.map { |name| "Guildhall::#{name} has no signature" }
  RUBY

  def test_match_the_code
    assert_empty assert_ruby(SCRIPT)
  end
end
