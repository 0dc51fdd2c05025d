# frozen_string_literal: true

require "active_record"
require_relative "document"

module Guildhall
  # Documents as conditions of Active Record: `Order.where(id: document["ids"])`. Active Record takes anything else than an
  # Array for one value, and type casting makes nil of what it does not know: `id IS NULL`, silently.
  #
  # Changes nothing of Active Record's unless it is asked for: `require "guildhall/active_record"`, in an initializer or in
  # config/guildhall.rb. Takes effect when Active Record's base class is loaded.
  # @api private
  module ActiveRecord
    # The values of conditions are the Hashes or Arrays of the Documents.
    module Conditions
      def build_from_hash(attributes, &)
        plain = Guildhall::Document.plain(attributes)
        super(plain.transform_values { |value| Guildhall::Document.plain(value) }, &)
      end

      def build(attribute, value, ...)
        super(attribute, Guildhall::Document.plain(value), ...)
      end
    end

    # `where(document)` is `where` with the Hash.
    module Queries
      def build_where_clause(conditions, ...)
        super(Guildhall::Document.plain(conditions), ...)
      end

      # Another object than a Hash or Array is taken for a primary key.
      def exists?(conditions = :none) = super(Guildhall::Document.plain(conditions))
    end

    # Anything but a Hash or Array passes there as finished SQL.
    module Sanitization
      def sanitize_sql_for_conditions(condition) = super(Guildhall::Document.plain(condition))
      def sanitize_sql(condition) = super(Guildhall::Document.plain(condition))
      def sanitize_sql_for_assignment(assignments, ...) = super(Guildhall::Document.plain(assignments), ...)
      def sanitize_sql_for_order(condition) = super(Guildhall::Document.plain(condition))
    end

    # `find(document["ids"])` is `find` with the Array.
    module Statements
      def unsupported_value?(value) = super || Guildhall::Document === value
    end

    ::ActiveSupport.on_load(:active_record) do
      ::ActiveRecord::StatementCache.singleton_class.prepend(Statements)
      ::ActiveRecord::PredicateBuilder.prepend(Conditions)
      ::ActiveRecord::Relation.prepend(Queries)
      ::ActiveRecord::Sanitization::ClassMethods.prepend(Sanitization)
    end
  end
end
