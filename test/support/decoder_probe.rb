# frozen_string_literal: true

require "rbconfig"

# An extension of somebody else's that uses native decoders, and has one whose results cannot be wrapped.
module DecoderProbeExtension
  ROOT = File.expand_path("../..", __dir__)
  # A codec with that decoder.
  UNWRAPPABLE = <<~'RUBY'
    class Unwrappable
      include Guildhall::Codec
      def decode(bytes) = bytes
      def native_decoder = DecoderProbe.unwrappable
    end
  RUBY

  # @param folder [String] where the extension is put, for `require "decoder_probe"`
  def build_decoder_probe(folder)
    headers = RbConfig::CONFIG.values_at("rubyhdrdir", "rubyarchhdrdir") << File.join(ROOT, "ext/guildhall/include")
    target = File.join(folder, "decoder_probe.#{RbConfig::CONFIG["DLEXT"]}")
    out, err, status = run_command([RbConfig::CONFIG["CC"].split.first, "-std=gnu11", "-O1", "-fPIC", "-shared", *headers.map { |path| "-I#{path}" },
                                    File.join(ROOT, "test/support/decoder_probe.c"), "-o", target], timeout: 120)
    assert_predicate status, :success?, "#{out}\n#{err}"
  end
end
