# frozen_string_literal: true

# Other gems that read JSON, where they are installed: how each reads five fields.
module JSONPeers
  # @param fields [#call] takes what it wants from a Hash
  # @yield [name, read] read: takes a text and returns the fields
  def self.each(fields)
    if loaded?("oj")
      Oj.default_options = {mode: :strict}
      yield "Oj.load, oj #{Oj::VERSION}", ->(text) { fields.call(Oj.load(text)) }
      parser = Oj::Parser.new(:usual)
      yield "Oj::Parser", ->(text) { fields.call(parser.parse(text)) }
    end
    yield "simdjson #{Simdjson::VERSION}", ->(text) { fields.call(Simdjson.parse(text)) } if loaded?("simdjson")
  end

  def self.loaded?(gem)
    require gem
    true
  rescue LoadError
    false
  end
  private_class_method :loaded?
end
