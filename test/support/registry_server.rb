# frozen_string_literal: true

require "json"
require "openssl"
require "socket"

# A schema registry over real HTTP on loopback, whose answers a test decides.
class RegistryServer
  # @return [Array<String>] "GET /schemas/ids/1", in the order they came
  # @return [Array<Hash>] their headers, names in lower case
  # @return [Array<String>] their bodies
  attr_reader :requests, :headers, :bodies

  # @param answers [Hash{String=>Array, Proc}] path → [status, object], or what is called with the socket
  # @param tls [OpenSSL::SSL::SSLContext, nil] nil: HTTP without TLS
  def initialize(answers = {}, tls = nil)
    @answers = answers
    @tls = tls
    @requests = []
    @headers = []
    @bodies = []
    @server = TCPServer.new("127.0.0.1", 0)
    @thread = Thread.new { loop { serve } }
  end

  # @return [String]
  def url = "http#{"s" if @tls}://127.0.0.1:#{@server.addr[1]}"

  def []=(path, answer)
    @answers[path] = answer
  end

  def close
    @thread.kill.join
    @server.close
  end

  # A schema at an id.
  def add(id, schema, **rest)
    self["/schemas/ids/#{id}"] = [200, {schema: schema.is_a?(String) ? schema : JSON.generate(schema), **rest}]
  end

  private

  def serve
    socket = encrypted(@server.accept)
    line = socket.gets or return
    @requests << line[/\A\S+ \S+/]
    @headers << read_headers(socket)
    @bodies << socket.read(@headers.last["content-length"].to_i)
    answer(socket, @answers.fetch(line.split[1], [404, {error_code: 40_403, message: "Schema not found"}]))
  rescue SystemCallError, IOError, OpenSSL::SSL::SSLError
    nil # the client went away, or did not trust us
  ensure
    socket&.close
  end

  def encrypted(socket)
    return socket unless @tls

    OpenSSL::SSL::SSLSocket.new(socket, @tls).tap do |made|
      made.sync_close = true
      made.accept
    rescue StandardError
      socket.close
      raise
    end
  end

  def read_headers(socket)
    Enumerator.produce { socket.gets.to_s.chomp }.take_while { |line| !line.empty? }.to_h do |line|
      line.split(": ", 2).then { |name, value| [name.downcase, value] }
    end
  end

  def answer(socket, answer)
    return answer.call(socket) if answer.is_a?(Proc)

    body = answer[1].is_a?(String) ? answer[1] : JSON.generate(answer[1])
    socket.write("HTTP/1.1 #{answer[0]} X\r\nContent-Length: #{body.bytesize}\r\nConnection: close\r\n\r\n#{body}")
  end
end
