# frozen_string_literal: true

module Guildhall
  class Schema
    # Resolves references against a base as RFC 3986, section 5.2 says, for any scheme.
    # @api private
    module UriReference
      PARTS = %r{\A(?:([a-zA-Z][\w+.-]*):)?(?://([^/?#]*))?([^?#]*)(?:\?([^#]*))?(?:#(.*))?\z}mu
      private_constant :PARTS

      # @param base [String] without a fragment
      # @return [Array(String, String)] the absolute URI without its fragment, and the fragment, percent-decoded
      def self.resolve(reference, base)
        scheme, authority, path, query, fragment = parts(reference)
        target = scheme ? [scheme, authority, remove_dots(path), query] : relative(authority, path, query, parts(base))
        [join(*target), decode(fragment || "")]
      end

      def self.parts(uri)
        PARTS.match(uri)&.captures || raise(SchemaError, "#{uri.inspect} is not a URI reference")
      end
      private_class_method :parts

      def self.relative(authority, path, query, base)
        scheme, base_authority, base_path, base_query, = base
        return [scheme, authority, remove_dots(path), query] if authority
        return [scheme, base_authority, base_path, query || base_query] if path.empty?

        path = merge(path, base_authority, base_path) unless path.start_with?("/")
        [scheme, base_authority, remove_dots(path), query]
      end
      private_class_method :relative

      def self.merge(path, base_authority, base_path)
        return "/#{path}" if base_authority && base_path.empty?

        base_path[%r{\A.*/}mu].to_s + path
      end
      private_class_method :merge

      def self.remove_dots(path)
        return path unless path.match?(%r{(\A|/)\.\.?(/|\z)}u)

        kept = path.split("/", -1).each_with_object([]) do |segment, segments|
          segments.pop if segment == ".." && segments != [""]
          segments << segment unless [".", ".."].include?(segment)
        end
        kept << "" if path.end_with?("/.", "/..") && (kept.last != "" || kept.size == 1)
        kept.join("/")
      end
      private_class_method :remove_dots

      def self.join(scheme, authority, path, query)
        "#{"#{scheme}:" if scheme}#{"//#{authority}" if authority}#{path}#{"?#{query}" if query}"
      end
      private_class_method :join

      def self.decode(fragment)
        decoded = fragment.gsub(/(?:%\h\h)+/u) { |encoded| [encoded.delete("%")].pack("H*") }.force_encoding(Encoding::UTF_8)
        decoded.valid_encoding? ? decoded : raise(SchemaError, "##{fragment} is not a URI reference: its fragment is not UTF-8")
      end
      private_class_method :decode
    end
  end
end
