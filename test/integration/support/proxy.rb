# frozen_string_literal: true

require "socket"

# A stretch of network between clients and a broker on loopback, which can fail. Clients that are given its address get
# to know no other: in every answer of the broker its own address is replaced by the proxy's, which
# is as long, so that nothing else of the answer changes.
class Proxy
  # Kinds of requests, as Kafka's protocol numbers them.
  PRODUCE = 0
  LIST_OFFSETS = 2
  OFFSET_COMMIT = 8
  CONSUMER_GROUP_HEARTBEAT = 68

  # @return [Numeric] seconds by which every request and every answer is held up
  attr_accessor :delay
  # @return [Integer] connections that were made
  attr_reader :connections
  # @return [Integer] connections that were reset in the middle of an answer
  attr_reader :halved
  # @return [Integer] answers that were dropped
  attr_reader :swallowed

  # @param target [String] the broker's "127.0.0.1:PORT"
  def initialize(target)
    @host, port = target.split(":")
    @port = Integer(port)
    @server = TCPServer.new(@host, 0)
    @reported = address(@port)
    @own = address(@server.addr[1])
    @lock = Mutex.new
    @changed = ConditionVariable.new
    @pairs = []
    @delay = @connections = @halved = @swallowed = 0
    @unanswered = []
    @state = :open
    @acceptor = Thread.new { accept }
  end

  # @return [String]
  def bootstrap_servers
    "#{@host}:#{@server.addr[1]}"
  end

  # Everything passes.
  # @return [void]
  def open
    @unanswered = []
    become(:open)
  end

  # Answers to such requests are dropped; everything else passes.
  # @param requests [Array<Integer>] {OFFSET_COMMIT} …
  # @return [void]
  def swallow_answers(*requests)
    @unanswered = requests
  end

  # All connections are reset; new ones are reset at once.
  # @return [void]
  def cut
    become(:cut)
    reset
  end

  # Nothing passes, and no error is seen: what is sent meanwhile arrives when the proxy is open again.
  # @return [void]
  def silence
    become(:silent)
  end

  # What clients send arrives; the answers do not.
  # @return [void]
  def silence_answers
    become(:unanswered)
  end

  # Every connection is reset in the middle of the next answer of more than 1 KB, for as long as this lasts.
  # @return [void]
  def halve_answers
    become(:halved)
  end

  # @return [void]
  def close
    @server.close
    @acceptor.join
    become(:closed)
    reset
    eventually_none
  end

  private

  # As Kafka's protocol writes it.
  def address(port)
    (@host + [port].pack("N")).b.freeze
  end

  def become(state)
    @lock.synchronize do
      @state = state
      @changed.broadcast
    end
  end

  def accept
    loop do
      client = @server.accept
      @state == :cut ? kill(client) : connect(client)
    end
  rescue IOError, SystemCallError
    nil # closed
  end

  def connect(client)
    broker = TCPSocket.new(@host, @port)
    [client, broker].each { |socket| socket.setsockopt(Socket::IPPROTO_TCP, Socket::TCP_NODELAY, 1) }
    pair = [client, broker]
    dropped = {} # requests' numbers
    pair.push(Thread.new { pump(pair) { carry(client, broker, dropped) } }, Thread.new { pump(pair) { answer(broker, client, dropped) } })
    @lock.synchronize { @pairs << pair }
    @connections += 1
  rescue SystemCallError
    kill(client) # no broker
  end

  def pump(pair)
    yield
  rescue IOError, SystemCallError
    nil # somebody hung up
  ensure
    pair.first(2).each { |socket| kill(socket) }
    @lock.synchronize { @pairs.delete(pair) }
  end

  # Request by request: each begins with its length, its kind, a version, and its number.
  def carry(client, broker, dropped)
    while (length = client.read(4))
      bytes = client.read(length.unpack1("N")) or break
      kind, _version, number = bytes.unpack("nnN")
      dropped[number] = true if @unanswered.include?(kind)
      pass(:silent)
      broker.write(length, bytes)
    end
  end

  # Answer by answer: each begins with its length and the request's number.
  def answer(broker, client, dropped)
    while (length = broker.read(4))
      bytes = broker.read(length.unpack1("N")) or break
      next @swallowed += 1 if dropped.delete(bytes.unpack1("N"))

      bytes.gsub!(@reported, @own)
      pass(:silent, :unanswered)
      return halve(client, length, bytes) if @state == :halved && bytes.size > 1024

      client.write(length, bytes)
    end
  end

  def halve(client, length, bytes)
    client.write(length, bytes[0, bytes.size / 2])
    @halved += 1
  end

  def pass(*closed)
    sleep(@delay) if @delay.positive?
    @lock.synchronize { @changed.wait(@lock) while closed.include?(@state) }
  end

  def reset
    pairs = @lock.synchronize { @pairs.dup }
    pairs.flat_map { |pair| pair.first(2) }.each { |socket| kill(socket) }
  end

  # With a reset instead of an orderly end.
  def kill(socket)
    socket.setsockopt(Socket::SOL_SOCKET, Socket::SO_LINGER, [1, 0].pack("ii"))
    socket.close
  rescue IOError, SystemCallError
    nil # closed before
  end

  def eventually_none
    threads = @lock.synchronize { @pairs.flat_map { |pair| pair.drop(2) } }
    threads.each { |thread| thread.join(5) }
  end
end
