# frozen_string_literal: true

require_relative "errors"

module Guildhall
  class SchemaRegistry
    # Follows the references of schemas: each schema is fetched and made once, after those that it refers to. For one resolution, in one
    # thread.
    # @api private
    class References
      # @param find [#call] Hash with name, subject and version → {Entry}
      # @param make [#call] {Entry} and what it refers to, see {#all} → what is made of it
      def initialize(find, &make)
        @find = find
        @make = make
        @made = {}
        @open = []
      end

      # @return [Object] what is made of it
      # @raise [RefusedError] naming the schemas that refer to each other in a cycle
      def make(entry) = @make.call(entry, all(entry.references))

      # @param list [Array<Hash{String=>Object}>] name, subject and version of each
      # @return [Array<Array(String, Object)>] the names, and what is made of the schemas
      # @raise as {#make} does
      def all(list) = list.map { |reference| [reference["name"], referred(reference)] }

      private

      def referred(reference)
        version = reference.values_at("subject", "version")
        @made.fetch(version) { @made[version] = opened(version) { make(@find.call(reference)) } }
      end

      def opened(version)
        raise RefusedError, cycle(version) if @open.include?(version)

        @open.push(version)
        yield.tap { @open.pop }
      end

      def cycle(version)
        names = [*@open.drop_while { |one| one != version }, version].map { |subject, number| "version #{number} of #{subject}" }
        "schemas refer to each other in a cycle: #{names.join(" → ")}; register one of them without its reference"
      end
    end
  end
end
