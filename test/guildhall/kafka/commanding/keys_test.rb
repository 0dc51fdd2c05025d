# frozen_string_literal: true

require "pty"
require "test_helper"
require "guildhall/kafka"
require "guildhall/kafka/commanding/keys"

class KafkaCommandKeysTest < GuildhallTest
  Keys = Guildhall::Kafka::Commanding::Keys

  def setup
    @private, @public = Keys.generate
  end

  def problem(kind, text) = assert_raises(Guildhall::ArgumentError) { Keys.public_send(kind, text) }.message

  def test_what_one_key_signs_the_other_one_checks
    key = Keys.private(@private)
    signature = Keys.sign(key, "bytes")
    assert Keys.signed?(Keys.public(@public), "bytes", signature)
    refute Keys.signed?(Keys.public(@public), "Bytes", signature)
    refute Keys.signed?(Keys.public(Keys.generate.last), "bytes", signature)
    [nil, "", "x" * 64, signature[0, 63], ["bytes"]].each { |one| refute Keys.signed?(Keys.public(@public), "bytes", one) }
  end

  # A variable of the environment may have lost its line breaks.
  def test_pem_and_base64_are_the_same
    pem = OpenSSL::PKey.read(@public.unpack1("m0")).public_to_pem
    [pem, pem.gsub("\n", "\\n"), " #{@public}\n"].each { |text| assert_equal Keys.public(@public).raw_public_key, Keys.public(text).raw_public_key }
  end

  # The message is logged: whatever was given may be the private key.
  def test_for_a_key_with_a_pass_phrase_nobody_is_asked
    key = OpenSSL::PKey.generate_key("ED25519").private_to_pem("aes-256-cbc", "secret")
    code = "begin; Guildhall::Kafka::Commanding::Keys.private(ARGV[0]); rescue Guildhall::ArgumentError => error; print(error.message); end"
    PTY.spawn(RbConfig.ruby, *$LOAD_PATH.flat_map { |path| ["-I", path.to_s] }, "-rguildhall/kafka", "-rguildhall/kafka/commanding/keys", "-e", code, "--", key) do |out, input, pid|
      assert_match(/\Ais no key/, out.readpartial(1_000))
    ensure
      Process.kill(:KILL, pid)
      Process.wait(pid)
      [out, input].each(&:close) # PTY.spawn leaves that to the garbage collector
    end
  end

  def test_a_key_in_another_encoding
    error = assert_raises(Guildhall::ArgumentError) { Keys.private(Keys.generate.first.encode("UTF-16LE")) }
    assert_match(/is no key/, error.message)
  end

  def test_mistakes_are_named_without_quoting_the_key
    assert_match(/is the private key, which only the page needs/, problem(:public, @private))
    assert_match(/is the public key: the private one signs/, problem(:private, @public))
    [nil, "", " "].each { |text| assert_match(/is missing: guildhall command keys prints a pair/, problem(:public, text)) }
    assert_match(/is no key, neither PEM nor base 64/, problem(:public, "secret-of-mine"))
    refute_includes problem(:public, @private), @private[20, 10]
    rsa = [OpenSSL::PKey.generate_key("ED448").public_to_der].pack("m0")
    assert_match(/must be an Ed25519 key, not ED448/, problem(:public, rsa))
    assert_match(/must be a String, not Integer/, problem(:public, 7))
  end
end
