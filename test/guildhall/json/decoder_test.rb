# frozen_string_literal: true

require "guildhall/json"
require "rbconfig"
require "tmpdir"
require_relative "../../support/decoder_probe"
require_relative "../../support/sanitizers"

# The codec's native decoder as an extension of somebody else's uses it: compiled against the installed header, decoding
# on threads of its own without the GVL.
class JSONDecoderTest < GuildhallTest
  include DecoderProbeExtension

  def test_decodes_without_the_gvl
    assert_probe(<<~'RUBY')
      expect DecoderProbe.header(ADDRESS) == [1, true]
      text = '{"id":7,"items":[{"sku":"a\u00e9"},2.5,12345678901234567890]}'.freeze
      documents = DecoderProbe.decode(ADDRESS, text, 1000)
      expect documents.size == 4
      documents.each do |document|
        expect document.is_a?(Guildhall::JSON::ObjectDocument) && Ractor.shareable?(document)
        expect document == Guildhall::JSON.decode(text) && document.dig("items", 0, "sku") == "aé" && document.source == text
      end
      expect DecoderProbe.decode(ADDRESS, "[1]".freeze, 1).first.is_a?(Guildhall::JSON::ArrayDocument)
      expect DecoderProbe.decode(ADDRESS, '"text"'.freeze, 1) == [:deferred] * 4 # it has no Document
      large = "[#{Array.new(200_000) { |n| n }.join(",")}]".freeze
      expect DecoderProbe.decode(ADDRESS, large, 2).all? { |document| document.size == 200_000 && document[199_999] == 199_999 }
    RUBY
  end

  def test_errors_are_the_codecs_errors
    assert_probe(<<~'RUBY')
      text = '{"user":{"roles":[1,tru]}}'.freeze
      DecoderProbe.decode(ADDRESS, text, 10).each do |error|
        expect error.is_a?(Guildhall::JSON::ParseError) && error.offset == 20 && error.path == "$.user.roles[1]"
      end
      expect DecoderProbe.decode(ADDRESS, "".freeze, 1).first.is_a?(Guildhall::JSON::ParseError)
    RUBY
  end

  def test_options_are_the_codecs
    assert_probe(<<~'RUBY')
      codec = Guildhall::JSON.new(symbolize_names: true, allow_duplicate_key: true, max_nesting: 2).lazy
      twice = DecoderProbe.decode(codec.native_decoder, '{"a":1,"a":[2]}'.freeze, 3)
      expect twice.all? { |document| document.to_h == {a: [2]} && document.source.nil? }
      expect DecoderProbe.decode(codec.native_decoder, "[[[1]]]".freeze, 1).first.message.include?("nest")
    RUBY
  end

  def test_a_result_that_cannot_be_wrapped_is_freed_in_the_pool
    assert_probe(<<~RUBY)
      require "guildhall/pool"
      #{UNWRAPPABLE}
      results = Guildhall::Pool.open(workers: 1) { |pool| pool.results(%w[a b c], Ractor.make_shareable(Unwrappable.new), parallel: true) }
      expect results.map(&:error_class) == ["NoMemoryError"] * 3
      expect DecoderProbe.counts == [3, 3]
    RUBY
  end

  # Tapes that malloc made are freed with their Documents and make the collector run: memory stays flat.
  def test_memory_stays_flat
    skip("AddressSanitizer keeps what was freed") if Sanitizers.on?
    assert_probe(<<~'RUBY')
      text = "[#{(["{\"a\":1}"] * 20_000).join(",")}]".freeze
      resident = -> { File.read("/proc/self/statm").split[1].to_i * 4096 }
      20.times { DecoderProbe.decode(ADDRESS, text, 1) }
      before, collections = resident.call, GC.count
      300.times { DecoderProbe.decode(ADDRESS, text, 1) } # 600 MB of tapes
      expect GC.count > collections
      grown = resident.call - before
      abort "grew by #{grown}" if grown > 150_000_000
    RUBY
  end

  private

  def assert_probe(script)
    Dir.mktmpdir do |folder|
      build_decoder_probe(folder)
      out = assert_ruby(<<~RUBY)
        $LOAD_PATH.unshift(#{folder.dump})
        require "guildhall/json"
        require "decoder_probe"
        ADDRESS = Guildhall::JSON.lazy.native_decoder
        def expect(truth) = truth || abort("not so: \#{caller_locations(1, 1).first}")
        #{script}
        puts "done"
      RUBY
      assert_equal "done\n", out
    end
  end
end
