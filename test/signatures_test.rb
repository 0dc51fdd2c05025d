# frozen_string_literal: true

require "test_helper"

# The signatures name what is there, and all of what is public.
class SignaturesTest < GuildhallTest
  SCRIPT = <<~'RUBY'
    require "rbs"
    require "guildhall"
    Dir[File.join("lib/guildhall/*.rb")].sort.each { |path| require File.expand_path(path) }
    require "guildhall/cli"
    require "guildhall/kafka/cli"

    loader = RBS::EnvironmentLoader.new
    loader.add(path: Pathname("sig"))
    builder = RBS::DefinitionBuilder.new(env: RBS::Environment.from_loader(loader).resolve_type_names)
    faults = []

    # Written in Ruby or C by us: not what Struct and Data bring.
    own = lambda do |type, names|
      names.reject { |name| name.start_with?("native_") || %i[inspect to_s hash pretty_print initialize freeze].include?(name) || type.instance_methods.include?(:members) }
    end

    compare = lambda do |label, declared, defined, all|
      (declared - all).each { |name| faults << "#{label}#{name} is declared, but not there" }
      (defined - declared).each { |name| faults << "#{label}#{name} has no signature" }
    end

    declared_here = ->(definition, name) { definition.methods.select { |_, method| method.defined_in == name }.keys }

    walk = lambda do |constant, path|
      type_name = RBS::TypeName.parse("::#{path}")
      unless builder.env.class_decls.key?(type_name)
        next faults << "#{path} has no signature"
      end

      instance = builder.build_instance(type_name)
      compare.call("#{path}#", declared_here.call(instance, type_name) - %i[initialize], own.call(constant, constant.public_instance_methods(false)),
        constant.instance_methods + constant.private_instance_methods)
      singleton = builder.build_singleton(type_name)
      compare.call("#{path}.", declared_here.call(singleton, type_name) - %i[new], own.call(constant.singleton_class, constant.singleton_class.public_instance_methods(false) - %i[new allocate [] members]),
        constant.methods + constant.private_methods)
      constant.constants(false).each do |name|
        child = constant.const_get(name)
        walk.call(child, "#{path}::#{name}") if child.is_a?(Module) && child.name == "#{path}::#{name}"
      end
    end
    walk.call(Guildhall, "Guildhall")
    puts faults
  RUBY

  def test_match_the_code
    assert_empty assert_ruby(SCRIPT, timeout: 120)
  end
end
