# frozen_string_literal: true

require "socket"

# As much of a broker as a client needs to learn that its credentials are refused: Kafka's protocol up to SaslAuthenticate.
class RefusingBroker
  API_VERSIONS = 18
  SASL_HANDSHAKE = 17
  SASL_AUTHENTICATE = 36
  UNSUPPORTED_VERSION = 35
  SASL_AUTHENTICATION_FAILED = 58
  REASON = "Invalid username or password"

  def initialize
    @server = TCPServer.new("127.0.0.1", 0)
    @thread = Thread.new { accept }
    @connections = []
  end

  # @return [Hash{Symbol=>Object}] of a client
  def settings
    {"bootstrap.servers": "127.0.0.1:#{@server.addr[1]}", "security.protocol": "sasl_plaintext", "sasl.mechanism": "PLAIN",
     "sasl.username": "shop", "sasl.password": "wrong"}
  end

  def stop
    @thread.kill.join
    @connections.each { |thread| thread.kill.join }
    @server.close
  end

  private

  def accept
    loop do
      socket = @server.accept
      @connections << Thread.new { serve(socket) }
    end
  end

  def serve(socket)
    while (size = socket.read(4))
      request = socket.read(size.unpack1("N"))
      kind, version, id = request.unpack("s>s>N")
      answer = [id].pack("N") + body(kind, version)
      socket.write([answer.bytesize].pack("N") + answer)
    end
  rescue SystemCallError, IOError
    nil # the client has gone
  ensure
    socket.close
  end

  def body(kind, version)
    case kind
    when API_VERSIONS then [version.zero? ? 0 : UNSUPPORTED_VERSION, 3].pack("s>N") + versions
    when SASL_HANDSHAKE then [0, 1, 5, "PLAIN"].pack("s>Ns>a*")
    when SASL_AUTHENTICATE then [SASL_AUTHENTICATION_FAILED, REASON.bytesize, REASON, 0].pack("s>s>a*N")
    end
  end

  def versions
    [[API_VERSIONS, 0, 0], [SASL_HANDSHAKE, 0, 1], [SASL_AUTHENTICATE, 0, 0]].flatten.pack("s>*")
  end
end
