# frozen_string_literal: true

require "digest"
require "zlib"

module Guildhall
  class Web
    # The style sheet, the scripts and the icon: read once, named by what they contain, so that a browser keeps them.
    # @api private
    class Assets
      FOLDER = File.join(__dir__, "assets")
      TYPES = {".css" => "text/css; charset=utf-8", ".js" => "text/javascript; charset=utf-8", ".svg" => "image/svg+xml"}.freeze
      NAMES = %w[style.css live.js idiomorph.js icon.svg].freeze
      private_constant :FOLDER, :TYPES

      File = Data.define(:path, :type, :body, :compressed)
      private_constant :File

      def initialize
        files = NAMES.to_h { |name| [name, file(name)] }
        @paths = files.transform_values(&:path).freeze
        @files = files.values.to_h { |file| [file.path, file] }.freeze
      end

      # @param name [String] such as "style.css"
      # @return [String] its path below the dashboard's
      def path(name) = @paths.fetch(name)

      # @return [Array(Integer, Hash, Array<String>)] of Rack
      def response(request)
        file = @files[request.path_info] or return [404, {"content-type" => "text/plain"}, ["there is no such file"]]
        headers = {"content-type" => file.type, "cache-control" => "public, max-age=31536000, immutable", "vary" => "accept-encoding",
                   "x-content-type-options" => "nosniff"}
        return [200, headers, [file.body]] unless request.get_header("HTTP_ACCEPT_ENCODING").to_s.include?("gzip")

        [200, {**headers, "content-encoding" => "gzip"}, [file.compressed]]
      end

      private

      def file(name)
        body = ::File.binread(::File.join(FOLDER, name)).freeze
        ending = ::File.extname(name)
        path = "/assets/#{name.delete_suffix(ending)}-#{Digest::SHA256.hexdigest(body)[0, 12]}#{ending}"
        File.new(path:, type: TYPES.fetch(ending), body:, compressed: Zlib.gzip(body, level: 9).freeze)
      end
    end
  end
end
