# frozen_string_literal: true

require "socket"

# Between clients and a broker. When it is told to, it takes a produce request to the broker, and then ends the client's connection instead of
# bringing back the answer, as a broker does that is killed at the wrong moment.
class LosingProxy
  HEADER_BYTES = 4 # length of a request or an answer
  PRODUCE = 0

  # @return [String]
  attr_reader :address

  def initialize
    @server = TCPServer.new("127.0.0.1", 0)
    @address = "127.0.0.1:#{@server.addr[1]}"
    @losing = @lost = false
  end

  # @param broker [String] its address
  def forward_to(broker)
    @broker = broker.split(":")
    @accepting = Thread.new { loop { serve(@server.accept) } }
  end

  # The next one.
  def lose_answer_of_produce
    @lost = false
    @losing = true
  end

  # @return [Boolean] whether that has happened
  def lost? = @lost

  def stop
    @accepting&.kill
    @server.close
  end

  private

  def serve(client)
    broker = TCPSocket.new(*@broker)
    losing = false
    quietly(client, broker) do
      while (frame = read(client))
        losing ||= @losing && frame.unpack1("n") == PRODUCE
        write(broker, frame)
      end
    end
    quietly(client, broker) do
      while (frame = read(broker))
        next write(client, frame) unless losing

        @losing = false
        @lost = true
        break
      end
    end
  end

  def quietly(*sockets)
    Thread.new do
      yield
    rescue IOError, SystemCallError
      nil # the other side has ended
    ensure
      sockets.each(&:close)
    end
  end

  def read(socket) = socket.read(HEADER_BYTES)&.then { |length| socket.read(length.unpack1("N")) }
  def write(socket, frame) = socket.write([frame.bytesize].pack("N"), frame)
end
