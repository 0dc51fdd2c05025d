# frozen_string_literal: true

require "test_helper"
require "guildhall/failure"

class FailureTest < GuildhallTest
  # What an HTTP client's error may hold.
  class ConnectionError < StandardError
    attr_reader :socket, :headers

    def initialize(socket, headers)
      super("the connection broke")
      @socket = socket
      @headers = headers
    end
  end

  # What a worker comes upon, in whatever library.
  def test_what_only_the_main_ractor_may_touch_is_named_with_what_to_do
    messages = assert_ruby(<<~'RUBY').lines(chomp: true)
      require "guildhall/failure"
      require "guildhall/pipeline"
      module Library; TABLE = {"a" => 1}; end
      Warning[:experimental] = false
      constant, = [Ractor.new { begin; Library::TABLE; rescue => error; Guildhall::Failure.of(error).message; end }].map { |one| one.respond_to?(:value) ? one.value : one.take }
      puts constant
      method, = [Ractor.new { Guildhall::Failure.of(RuntimeError.new("defined with an un-shareable Proc in a different Ractor")).message }].map { |one| one.respond_to?(:value) ? one.value : one.take }
      puts method
    RUBY
    assert_match(/constant Library::TABLE .*; make it shareable: TABLE = Ractor.make_shareable\(…\), or, where a library defines it, Ractor.make_shareable\(Library::TABLE\) before the pool starts/, messages[0])
    assert_match(/; the method was made by define_method of a block, .*: call it in the main Ractor/, messages[1])
  end

  def test_details_keep_no_connection_open
    reader, writer = IO.pipe
    headers = [+"a"]
    failure = Guildhall::Failure.of(ConnectionError.new(writer, headers))
    assert_equal({headers: ["a"]}, failure.details)
    refute_predicate headers.first, :frozen?
    writer.close
    assert reader.wait_readable(5), "somebody else holds the other end"
    assert_predicate reader, :eof?
  ensure
    reader&.close
  end

  def test_a_message_in_any_encoding_can_be_put_together_with_other_text
    texts = ["é".encode("UTF-16LE"), "é".encode("ISO-8859-1"), "é".b, "é"]
    summaries = texts.map { |text| Guildhall::Failure.of(RuntimeError.new(text)).inspect }
    assert_equal ["#<Guildhall::Failure RuntimeError: é>"], summaries.uniq
  end

  def test_an_error_of_the_system_is_rescued_as_what_it_was
    failure = Guildhall::Failure.of(Errno::ECONNREFUSED.new("registry"))
    error = assert_raises(Errno::ECONNREFUSED) { failure.raise! }
    assert_equal [Errno::ECONNREFUSED::Errno, "Connection refused - registry"], [error.errno, error.message]
    assert_instance_of SystemCallError, Guildhall::Failure.of(SystemCallError.new("odd")).exception
  end
end
