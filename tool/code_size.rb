# frozen_string_literal: true

require "prism"
require_relative "environment"

# Lines and files of the parts of the code, and its largest classes: by instance variables, and by public methods. For people who take care
# that no class becomes two: docs/architecture.md says why the largest ones are as large as they are.
class CodeSize
  PARTS = {"lib/guildhall/kafka, with what it integrates" => "lib/guildhall/kafka{.rb,/**/*.rb}",
           "lib, without it" => "lib/**/*.rb", "ext" => "ext/**/*.{c,h}", "test" => "test/**/*.rb"}.freeze
  LISTED = 10

  # What is in one class, in all files that reopen it.
  class Found
    attr_reader :name, :path, :variables, :methods

    def initialize(name, path)
      @name = name
      @path = path
      @variables = Set.new
      @methods = Set.new
    end
  end

  # Goes through one file.
  class Visitor < Prism::Visitor
    DELEGATORS = %i[def_delegator def_instance_delegator].freeze
    ACCESSORS = %i[attr_reader attr_writer attr_accessor def_delegators].freeze

    def initialize(path, found)
      super()
      @path = path
      @found = found
      @names = []
      @public = [true]
    end

    def visit_class_node(node) = inside(node.constant_path.slice) { super }
    def visit_module_node(node) = inside(node.constant_path.slice) { super }
    def visit_singleton_class_node(node) = inside("(class methods)") { super }

    def visit_def_node(node)
      current&.methods&.add(node.name) if @public.last && node.receiver.nil? && node.name != :initialize
      super
    end

    def visit_call_node(node)
      names = node.arguments&.arguments.to_a.grep(Prism::SymbolNode).map { |one| one.unescaped.to_sym }
      if node.receiver.nil?
        @public[-1] = node.name == :public if %i[private public protected].include?(node.name) && node.arguments.nil?
        current&.methods&.merge(names) if @public.last && ACCESSORS.include?(node.name)
        current&.methods&.add(names.last) if @public.last && DELEGATORS.include?(node.name) && names.any?
        current&.methods&.subtract(names) if node.name == :private
      end
      super
    end

    def visit_instance_variable_read_node(node) = variable(node) { super }
    def visit_instance_variable_write_node(node) = variable(node) { super }
    def visit_instance_variable_or_write_node(node) = variable(node) { super }
    def visit_instance_variable_operator_write_node(node) = variable(node) { super }
    def visit_instance_variable_target_node(node) = variable(node) { super }

    private

    def current = @names.empty? ? nil : @found[@names.join("::")] ||= Found.new(@names.join("::"), @path)

    def inside(name)
      @names.push(name)
      @public.push(true)
      yield
    ensure
      @names.pop
      @public.pop
    end

    def variable(node)
      current&.variables&.add(node.name)
      yield
    end
  end

  def print
    counted = []
    PARTS.each do |title, pattern|
      paths = files(pattern) - counted
      counted |= paths
      puts format("%-45s %6d lines in %4d files", title, paths.sum { |path| File.foreach(path).count }, paths.size)
    end
    largest = classes
    {"instance variables" => :variables, "public methods" => :methods}.each do |title, part|
      puts "", "Most #{title}:"
      largest.max_by(LISTED) { |one| one.public_send(part).size }.each do |one|
        puts format("  %3d  %-50s %s", one.public_send(part).size, one.name, one.path)
      end
    end
  end

  private

  def files(pattern) = Dir.glob(pattern, base: Environment::ROOT).sort

  def classes
    found = {}
    files("lib/**/*.rb").each do |path|
      Prism.parse_file(File.join(Environment::ROOT, path)).value.accept(Visitor.new(path, found))
    end
    found.values
  end
end
