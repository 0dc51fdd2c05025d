# frozen_string_literal: true

require_relative "../digits"
require_relative "../option_rules"

module Guildhall
  class Schema
    # How schemas are read and run. Frozen and shareable.
    # @api private
    class Options
      CALLABLES = OptionRules.rule("a Hash of name, in UTF-8, and callable") do |given|
        given.is_a?(Hash) && given.all? { |name, one| SharedRegexp.utf8(name.to_s) && one.respond_to?(:call) }
      end
      REGISTRY = OptionRules.rule("a Hash of URI, in UTF-8, and schema") do |given|
        given.is_a?(Hash) && given.each_key.all? { |uri| SharedRegexp.utf8(uri.to_s) }
      end
      RULES = OptionRules.new(
        uri: OptionRules.rule("a URI in UTF-8") { |uri| !SharedRegexp.utf8(uri.to_s).nil? },
        draft: OptionRules.one_of(*Dialect::DRAFTS), registry: REGISTRY,
        formats: CALLABLES.or(true, false), keywords: CALLABLES, work_limit: OptionRules.integer(ceiling: (2**63) - 1),
        max_digits: OptionRules.integer(Digits::RANGE), regexp_timeout: OptionRules.seconds
      )
      private_constant :CALLABLES, :REGISTRY, :RULES

      # @return [String] the schema's own URI where it has no `$id`: relative references are resolved against it; ""
      attr_reader :uri
      # @return [String] the draft of schemas that name none: "2020-12", "2019-09", "7", "6" or "4"
      attr_reader :draft
      # @return [Hash{String=>Object}] other documents by URI, for `$ref`: Hashes, or Strings of JSON
      attr_reader :registry
      # @return [Boolean] whether `format` is checked
      attr_reader :check_formats
      # @return [Hash{String=>#call}] own formats: `call(string)` answers true or false. They go before the built-in
      #   ones of the same name.
      attr_reader :formats
      # @return [Hash{String=>#call}] own keywords: `call(value, operand)`, where operand is the keyword's value in the
      #   schema, answers true or false or, for what is invalid, a String that says what is wrong
      attr_reader :keywords
      # @return [Integer] steps of one validation, of about 100 ns each, before {LimitError}: schemas applied, values compared, and
      #   the equivalent of what is done to long texts, many members and by regular expressions
      attr_reader :work_limit
      # @return [Integer] digits of numbers that Ruby has to divide for `multipleOf` or `uniqueItems`, before {LimitError}
      attr_reader :max_digits
      # @return [Numeric] seconds that one match of a regular expression may take, before {LimitError}
      attr_reader :regexp_timeout

      # @param formats [Hash, Boolean] false: `format` is not checked
      # @raise [Guildhall::ArgumentError] naming all that is wrong
      # @raise [NotShareableError]
      def initialize(uri: "", draft: "2020-12", registry: {}, formats: true, keywords: {}, work_limit: 10_000_000,
                     max_digits: Digits::MOST, regexp_timeout: 1)
        @draft = draft.to_s.delete_prefix("draft-0").delete_prefix("draft-").freeze
        RULES.check!({uri:, draft: @draft, registry:, formats:, keywords:, work_limit:, max_digits:, regexp_timeout:})
        @uri = utf8(uri)
        @check_formats = formats != false
        @work_limit = work_limit
        @max_digits = max_digits
        @regexp_timeout = regexp_timeout
        @formats, @keywords = [formats.is_a?(Hash) ? formats : {}, keywords].map { |callables| shareable(callables) }
        @registry = read(registry)
        Ractor.make_shareable(self)
      end

      private

      def shareable(callables)
        callables.transform_keys { |name| utf8(name) }.to_h { |name, callable| [name, Shareable.callable!(callable, name)] }.freeze
      end

      def read(registry)
        documents = registry.transform_keys { |uri| utf8(uri).delete_suffix("#").freeze }
        documents.to_h { |uri, document| [uri, Source.read(document, uri)] }.freeze
      end

      def utf8(name) = SharedRegexp.utf8(name.to_s).dup.freeze
    end
  end
end
