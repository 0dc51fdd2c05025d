# frozen_string_literal: true

require "test_helper"
require "guildhall/templates"
require "support/template_corpus"

# Fifty templates, byte for byte as each engine renders them in one thread: here, and on two workers.
class TemplateCorpusTest < GuildhallTest
  LOCALS = TemplateCorpus::LOCALS

  def test_there_are_fifty
    assert_operator TemplateCorpus.all.size, :>=, 50
  end

  def test_the_same_bytes_without_escaping = assert_corpus(false)

  # ERB itself does not escape.
  def test_the_same_bytes_with_escaping
    assert_corpus(true) { |engine| engine != :erb }
  end

  private

  def assert_corpus(escape)
    Guildhall::Pool.open(workers: 2) do |pool|
      TemplateCorpus.all.each do |engine, text, mode|
        next if block_given? && !yield(engine)

        template = Guildhall::Template.new(text, engine:, trim_mode: mode, escape:, locals: LOCALS.keys, name: "corpus")
        expected = TemplateCorpus.expected(engine, text, mode, escape)
        results = [template.render(**LOCALS), *pool.render(template, [LOCALS] * 3, parallel: true)]
        assert_equal [[expected.b, Encoding::UTF_8, true]], results.map { |result| [result.b, result.encoding, result.frozen?] }.uniq, "#{engine} #{text}"
      end
    end
  end
end
