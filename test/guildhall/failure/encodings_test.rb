# frozen_string_literal: true

require "test_helper"

# Failures of texts in several encodings, made by several Ractors at once: Ruby 3.4 does not survive it where a regular expression has no encoding
# of its own.
class FailureEncodingsTest < GuildhallTest
  PROGRAM = <<~'RUBY'
    require "guildhall"
    require "guildhall/printable"
    Warning[:experimental] = false
    module Failing
      TEXTS = Ractor.make_shareable(["constant Object::RATES".b, "é constant Object::RATÉS", "é constant R".encode("ISO-8859-1"), "\xFF constant R".b])
      def self.call
        4000.times do |number|
          text = TEXTS[number % TEXTS.size]
          Guildhall::Failure.of(Ractor::IsolationError.new(text)).place
          Guildhall::Failure.of(NameError.new("none", number.even? ? :Rate : :Raté))
          Guildhall::Printable.words(text, 10)
          Guildhall::Printable.bytes(text, 10)
        end
      end
    end
    4.times { Array.new(2) { Ractor.new { Failing.call } }.each { |ractor| ractor.respond_to?(:value) ? ractor.value : ractor.take } }
    print("done")
  RUBY

  def test_texts_of_several_encodings_in_several_ractors
    assert_equal "done", assert_ruby(PROGRAM)
  end

  def test_advice_on_a_constant_whatever_the_encoding
    advice = assert_ruby(<<~'RUBY')
      require "guildhall"
      Warning[:experimental] = false
      ractor = Ractor.new do
        ["constant Object::RATES".b, "é constant Object::RATES", "é constant Object::RATES".encode("UTF-16LE")].map { |text| Guildhall::Failure.of(Ractor::IsolationError.new(text)).message }
      end
      print((ractor.respond_to?(:value) ? ractor.value : ractor.take).map { |message| message[/RATES = \S+/] }.uniq)
    RUBY
    assert_equal %(["RATES = Ractor.make_shareable(…),"]), advice.force_encoding("UTF-8")
  end
end
