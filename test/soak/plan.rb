# frozen_string_literal: true

module Soaking
  # What each message of a soak is, by its number: the processes that send, handle and count need not tell each other.
  module Plan
    STREAMS = %i[plain plain plain plain keyed keyed tx tx retried retried].freeze # by the number's last digit
    KEYS = 32 # of a sender's stream
    # By the number modulo 1000. A broken one cannot be decoded; at a bad one the consumer raises whenever it comes.
    POISON = {1 => :bad, 2 => :broken, 205 => :bad, 108 => :bad}.freeze
    FLAKY = [3, 14, 28, 36].freeze # modulo 250: a process raises at it when it comes there first
    SLOW = [13, 1_024].freeze # modulo 2000
    SLOW_SECONDS = 2

    module_function

    # @param name [String] of the run
    # @return [Hash{Symbol=>String}] topics
    def topics(name) = {**%i[plain keyed tx retried].to_h { |stream| [stream, "#{name}.#{stream}"] }, out: "#{name}.out", dead: "#{name}.dead"}

    def stream(number) = STREAMS[number % 10]

    def key(sender, number) = "#{sender}-#{number / 10 % KEYS}"

    # @return [Symbol, nil] nil: a good one
    def poison(number) = POISON[number % 1_000]

    def flaky?(number) = FLAKY.include?(number % 250) && !poison(number)

    def slow?(number) = SLOW.include?(number % 2_000)

    # @return [Integer] milliseconds
    def now = Process.clock_gettime(Process::CLOCK_REALTIME, :millisecond)

    # @return [Hash] for the producer
    def message(topics, sender, number)
      payload = poison(number) == :broken ? "{broken" : %({"s":"#{sender}","n":#{number},"t":#{now},"text":"as long as many are, more or less, or not"})
      {topic: topics.fetch(stream(number)), key: key(sender, number), payload:, headers: {"id" => "#{sender} #{number}"}}
    end
  end
end
