# frozen_string_literal: true

require_relative "suggestion"
require_relative "template"

module Guildhall
  # The templates of a folder, compiled at once: they may `render` each other. Frozen and shareable.
  #
  #     mails = Guildhall::Templates.new("app/templates", helpers: [Money], layout: "layouts/mail")
  #     mails["orders/receipt"].render(order:)
  #
  # A template's name is its path in the folder, without the engine's ending; `.html` and the underscore of a partial may be left out,
  # and so may the folder and the format, in templates of the same. Which locals it takes says a comment in it:
  # `<%# locals: (order:, title: "Receipt") -%>`.
  class Templates
    include Enumerable

    ENDING = /\.(?:erb|rhtml|erubi|haml|slim)\z/
    FORMAT = /\.(\w+)\z/
    UNDERSCORE = %r{(\A|/)_(?=[^/]+\z)}
    private_constant :ENDING, :FORMAT, :UNDERSCORE

    # Reads and compiles all of them. Main Ractor only.
    # @param layout [String, nil] the name of the template around all others of its format
    # @param locals [Hash{String=>Array<Symbol>, String}] by name, for templates that do not say
    # @param helpers [Array<Module>] see {Template#initialize}
    # @param escape [Boolean, nil] see {Template#initialize}
    # @param trim_mode [String, nil] of its ERB templates
    # @raise [Guildhall::ArgumentError] for a folder without templates, or names that there are not
    # @raise see {Template#initialize}
    def initialize(folder, layout: nil, locals: {}, helpers: [], escape: nil, trim_mode: nil)
      @folder = folder.to_s.dup.freeze
      @paths = paths
      @templates = compile(layout, locals.transform_keys { |name| known(name.to_s) }, {helpers:, escape:, trim_mode:})
      @partials = Template::Partials.new(aliases(@templates))
      @templates.each { |name, template| template.know(partials_for(name)) }
      Ractor.make_shareable(self)
    end

    # @api private
    attr_reader :partials

    # @raise [Guildhall::ArgumentError] for a name that there is not
    def [](name) = @partials[name]

    def names = @templates.keys

    def each(&)
      return @templates.each_pair unless block_given?

      @templates.each_pair(&)
      self
    end

    def inspect = "#<Guildhall::Templates #{@folder}: #{@templates.size} templates>"

    private

    # @return [Hash{String=>String}] paths by the templates' names
    def paths
      found = Dir.glob("**/*", base: @folder).grep(ENDING).sort
      raise Guildhall::ArgumentError, "no templates in #{@folder} (*.erb, *.erubi, *.haml, *.slim)" if found.empty?

      found.group_by { |path| path.sub(ENDING, "") }.transform_values { |same| File.join(@folder, only(same)) }
    end

    def only(paths)
      return paths.first if paths.one?

      raise Guildhall::ArgumentError, "#{paths.join(" and ")} in #{@folder} have the same name: rename one, or remove it"
    end

    def compile(layout, locals, options)
      layouts = layout ? layouts_of(layout, locals, options) : {}
      @paths.to_h do |name, path|
        next [name, layouts[name]] if layouts.key?(name)

        around = layouts.values.find { |one| format_of(one.name) == format_of(path) }
        [name, template(path, options, locals: locals[name], layout: around)]
      end
    end

    # One for each format: `layout.html.erb` for pages, `layout.text.erb` for texts.
    def layouts_of(layout, locals, options)
      raise Guildhall::ArgumentError, "layout is the name of a template in #{@folder}, not #{layout.inspect}" unless layout.is_a?(String)

      names = @paths.keys.select { |name| short(name) == short(layout) || short(name).sub(FORMAT, "") == layout }
      raise Guildhall::ArgumentError, "no layout #{layout} in #{@folder}#{Suggestion.for(layout, @paths.keys)}" if names.empty?

      names.to_h { |name| [name, template(@paths[name], options, locals: locals[name])] }
    end

    def template(path, options, **own)
      options = options.except(:trim_mode) unless Template.trim_mode?(path)
      Template.new(Pathname(path), partials: Template::Partials::LATER, **options, **own)
    end

    def known(name)
      @paths.keys.find { |one| one == name || short(one) == name } ||
        raise(Guildhall::ArgumentError, "locals for #{name}, which is not in #{@folder}#{Suggestion.for(name, @paths.keys)}")
    end

    def format_of(path) = path.sub(ENDING, "")[FORMAT, 1] || "html"

    # "orders/_row.html" is called "orders/row".
    def short(name) = name.delete_suffix(".html").sub(UNDERSCORE, "\\1")

    # Every name that a template goes by. What is less of a change goes first: its own, then without the format, then without the
    # underscore.
    def aliases(templates, format = "html")
      plain = ->(name) { name.delete_suffix(".#{format}") }
      partial = ->(name) { name.sub(UNDERSCORE, "\\1") }
      changes = [:itself.to_proc, plain, partial, plain >> partial]
      changes.map { |change| templates.transform_keys(&change) }.reduce { |names, others| others.merge(names) }
    end

    # Templates of the same folder are called without it, and those of the same format without that.
    def partials_for(name)
      folder = name[%r{\A.*/}]
      format = format_of(name)
      return @partials if folder.nil? && format == "html"

      @near ||= {}
      @near[[folder, format]] ||= Template::Partials.new(seen_from(folder, format))
    end

    # What comes later goes first.
    def seen_from(folder, format)
      folders = [@templates, (near(folder) if folder)].compact
      ["html", format].uniq.flat_map { |one| folders.map { |templates| aliases(templates, one) } }.reduce(:merge)
    end

    def near(folder)
      @templates.filter_map { |name, one| [name.delete_prefix(folder), one] if name.start_with?(folder) }.to_h
    end
  end
end
