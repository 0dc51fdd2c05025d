# frozen_string_literal: true

require_relative "errors"
require_relative "shareable"

module Guildhall
  # A template, compiled once to a method: frozen, shareable, and a task for the pool. The same bytes wherever it is rendered.
  #
  #     mail = Guildhall::Template.new("Dear <%= name %>,", locals: [:name])
  #     mail.render(name: "Ada")                               # => "Dear Ada,"
  #     pool.render(mail, [{name: "Ada"}, {name: "Grace"}])    # => ["Dear Ada,", "Dear Grace,"]
  #
  # Made in the main Ractor, also while workers run; rendered in any.
  class Template
    # @return [Boolean] whether a comment in the file says which locals it takes
    def self.declares_locals?(path) = Signature.declared?(Source.read(path))

    # @api private
    # @return [Boolean] whether the engine that it names by its ending has a trim mode
    def self.trim_mode?(path) = !path.match?(/\.(?:haml|slim)\z/)

    # @return [Boolean] whether it can be the name of a local
    def self.local_name?(name) = Signature.name?(name)

    # What {Rendering#render} does with locals; for those who stream them:
    # `pool.each(rows.lazy.map { |row| Template.share(row) }, template)`.
    # @return [Object] shareable; of what cannot be shared the rendering fails, with the path to it
    def self.share(locals) = Locals.share(locals, "locals")

    # @api private
    # @return [Object] locals whose rendering fails
    def self.refused(reason) = Locals::Refused.new(reason: reason.dup.freeze, path: nil)

    # @return [Array<Symbol>] the locals that it takes
    def locals = @signature.names

    # @return [Symbol] :erb, :erubi, :haml or :slim
    attr_reader :engine

    # @param template [String, Pathname] the text, or the path of a file that ends in .erb, .erubi, .haml or .slim
    # @param locals [Array<Symbol>, String, nil] the local variables; or as a method's parameters, with defaults: `"user:, items: []"`; nil:
    #   as the template's first comment says, in the way of Rails: `<%# locals: (user:, items: []) -%>`
    # @param engine [Symbol, nil] :erb, :erubi, :haml or :slim; nil: as the path ends, or :erb
    # @param trim_mode [String, nil] of ERB: "-", ">", "<>", "%"; nil: the engine's own way
    # @param escape [Boolean, nil] whether values are escaped for HTML unless they are safe (`raw`, {SafeString}); nil: yes, unless the path
    #   says that it is plain text (.text.erb, .txt.erb, .csv.erb, .json.erb …)
    # @param helpers [Array<Module>] whose methods the template may call
    # @param layout [Template, nil] writes this one where it says `yield`
    # @param partials [Hash{String=>Template}, Templates, nil] what the template may `render`
    # @param name [String, nil] what to call a text in messages
    # @raise [Guildhall::ArgumentError] for options that cannot work, or a file that there is not
    # @raise [TemplateError] for invalid Ruby
    # @raise [IsolationError] for what touches what a worker may not, with its line
    # @raise [MissingDependencyError] naming the engine's gem
    # @raise [WrongRactorError] outside the main Ractor
    def initialize(template, locals: nil, engine: nil, trim_mode: nil, escape: nil, helpers: [], layout: nil, partials: {}, name: nil)
      raise WrongRactorError, "templates are compiled in the main Ractor; rendered in any" unless Ractor.main?

      @source = Source.of(template, name)
      @engine = engine || @source.engine || :erb
      refuse("escape is true, false or nil, not #{escape.inspect}") unless [true, false, nil].include?(escape)
      @layout = layout_of(layout)
      @escapes = escape.nil? ? !@source.plain? : escape
      @view = compile(Signature.parameters(locals, @source), @escapes, trim_mode, modules(helpers))
      @signature = Signature.new(@source, @view.instance_method(:guildhall_render))
      know(Partials.of(partials)) unless partials.equal?(Partials::LATER)
      Ractor.make_shareable(self)
    end

    # Here, in the calling thread. Any Ractor may call it.
    # @return [String] frozen; in the template's encoding
    # @raise [Guildhall::ArgumentError] naming the locals that are missing, or unknown
    # @raise [TemplateError] for whatever the template raises, with its line
    def render(**locals) = call(locals)

    # What makes a template a task of the pool.
    # @param locals [Hash] keys are Symbols or Strings
    # @raise see {#render}
    def call(locals)
      locals.refuse! if locals.is_a?(Locals::Refused)
      contents = {}
      finish(fill(locals, contents), locals, contents)
    end

    # @return [String] its file, or what it was named
    def name = @source.name

    def inspect = "#<Guildhall::Template #{name}>"
    alias to_s inspect

    # @api private
    # Once, before it is rendered.
    def know(partials)
      @view.const_set(:GUILDHALL_PARTIALS, partials)
    end

    # @api private
    # Without the layout.
    # @param contents [Hash] see {View#initialize}
    def fill(locals, contents, &)
      locals = @signature.check(locals)
      run(locals, contents, &)
    end

    # @api private
    # @param text [String] which this template wrote
    # @return [SafeString, String] an ordinary String, which others escape, if this one does not
    def marked(text) = @escapes ? SafeString.new(text) : text

    protected

    # @return [String] within the layout, and its layouts
    def finish(body, locals, contents)
      @layout ? @layout.wrap(marked(body), locals, contents) : body.freeze
    end

    def wrap(body, locals, contents)
      finish(run(@signature.own(locals), contents) { |name = nil| name ? contents[name] : body }, locals, contents)
    end

    private

    def run(locals, contents, &)
      view = @view.new(contents)
      text = view.guildhall_render(**locals, &)
      unless text.equal?(view.instance_variable_get(:@guildhall_out)) # a String would not be escaped either
        raise LocalJumpError, "a template must not use `return`; put the rest into an `if`"
      end

      encoded(text)
    rescue TemplateError
      raise
    rescue StandardError, ScriptError, SystemStackError => error
      raise TemplateError.of(error, @source, locals.keys)
    end

    # What is written first decides on the encoding of a Ruby String that was empty.
    def encoded(text)
      encoding = @source.text.encoding
      return text if text.encoding == encoding
      return text.force_encoding(encoding) if text.ascii_only?

      raise Encoding::CompatibilityError, "what was written is #{text.encoding}, and the template is #{encoding}; encode values first"
    end

    def compile(parameters, escape, trim_mode, helpers)
      ruby = translate(escape, trim_mode)
      Compiler.new(@source, ruby, parameters:, escape:, helpers:).view
    end

    def translate(escape, trim_mode)
      Engines[@engine].call(@source.text, escape:, trim_mode:)
    rescue IsolationError => error
      raise IsolationError, "#{@source.name} cannot be rendered on workers, and so nowhere: #{error.message}"
    rescue Guildhall::Error
      raise
    rescue StandardError, ScriptError => error # each engine has its own; the gem of a filter may not be there
      line = error.respond_to?(:lineno) ? error.lineno : (error.line + 1 if error.respond_to?(:line) && error.line)
      raise TemplateError.new("#{error.class}: #{error.message.lines.first&.chomp}", @source, line)
    end

    def layout_of(layout)
      return layout if layout.nil? || layout.is_a?(Template)

      refuse("layout must be a Guildhall::Template, not #{Shareable.article(layout.class)}")
    end

    def modules(helpers)
      wrong = Array(helpers).find { |helper| !helper.instance_of?(Module) }
      refuse("helpers must be modules; #{wrong.inspect} is #{Shareable.article(wrong.class)}") if wrong
      Array(helpers).each { |helper| check_initialize(helper) }
    end

    # The view's own takes an argument.
    def check_initialize(helper)
      return unless helper.private_method_defined?(:initialize)

      method = helper.instance_method(:initialize)
      return if method.arity.negative? ? ~method.arity <= 1 : method.arity == 1

      refuse("the helper #{helper} has an initialize (#{method.source_location&.join(":")}), which takes the place of the template's: " \
             "leave it out, or write `def initialize(*)` and call super in it")
    end

    def refuse(reason)
      raise Guildhall::ArgumentError, "#{@source.name}: #{reason}"
    end
  end
end

require_relative "template/safe_string"
require_relative "template/errors"
require_relative "template/source"
require_relative "template/signature"
require_relative "template/view"
require_relative "template/compiler"
require_relative "template/engines"
require_relative "template/partials"
require_relative "template/locals"
require_relative "template/rendering"
