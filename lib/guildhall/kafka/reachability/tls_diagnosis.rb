# frozen_string_literal: true

require "guildhall/clock"
require "socket"

module Guildhall
  module Kafka
    module Reachability
      # Says why a client and a broker do not agree about TLS, where librdkafka has one text for several reasons: it makes a handshake
      # itself, with Ruby's OpenSSL, and sends nothing.
      class TLSDiagnosis
        TIMEOUT_SECONDS = 3
        TIME_FORMAT = "%F %R UTC"
        UNKNOWN_ISSUER = %i[V_ERR_UNABLE_TO_GET_ISSUER_CERT V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY V_ERR_DEPTH_ZERO_SELF_SIGNED_CERT
                            V_ERR_SELF_SIGNED_CERT_IN_CHAIN V_ERR_UNABLE_TO_VERIFY_LEAF_SIGNATURE V_ERR_CERT_SIGNATURE_FAILURE].freeze
        private_constant :TIMEOUT_SECONDS, :TIME_FORMAT, :UNKNOWN_ISSUER

        # @yieldreturn [Hash{Symbol=>Object}, nil] librdkafka's settings of the client that the broker belongs to; nil: not known
        def initialize(connect: Socket.method(:tcp), &settings)
          @connect = connect
          @settings = settings
        end

        # Blocks for some seconds at most, also where the name cannot be resolved.
        # @yieldparam certificate [OpenSSL::X509::Certificate] the broker's, where it has shown one to a client that expects TLS
        # @return [String, nil] what is wrong, and what to do; nil: nothing that a handshake could show
        def call(broker, &)
          require "openssl"
          host, port = broker.match(/\A\[?(.*?)\]?:(\d+)\z/)&.captures
          return unless host && (settings = @settings.call(broker))

          limit = Clock.now + TIMEOUT_SECONDS
          tls = settings[:"security.protocol"].to_s.match?(/ssl/i)
          tls ? of_tls(host, port, settings, limit, &) || of_client(settings) : of_plaintext(host, port, limit)
        rescue Errno::ECONNREFUSED
          "nothing listens at its port #{port} now: check that the broker runs"
        rescue LoadError, SystemCallError, SocketError, IOError, OpenSSL::OpenSSLError
          nil # librdkafka's own words have to do
        end

        private

        def of_plaintext(host, port, limit)
          handshake(host, port, OpenSSL::SSL::SSLContext.new, limit) do
            return "its port #{port} speaks TLS: set security.protocol to ssl, or to sasl_ssl, or name its other port"
          end
          nil
        rescue OpenSSL::SSL::SSLError
          nil # it does not
        end

        def of_tls(host, port, settings, limit)
          found = []
          handshake(host, port, context(settings, found), limit) do |certificate|
            yield certificate if block_given?
            return found.empty? ? problem_with_name(certificate, host, settings) : explain(*found.first, settings)
          end
        rescue OpenSSL::SSL::SSLError => error
          return unless error.message.match?(/wrong version number|unknown protocol|packet length|unexpected eof|http request/i)

          "its port #{port} does not speak TLS: set security.protocol to plaintext, or to sasl_plaintext, or name its TLS port"
        end

        def verified?(settings) = settings[:"enable.ssl.certificate.verification"].to_s != "false"

        # Accepts every certificate, and notes what is wrong with it.
        def context(settings, found)
          context = OpenSSL::SSL::SSLContext.new
          return context unless verified?(settings)

          context.verify_mode = OpenSSL::SSL::VERIFY_PEER
          context.cert_store = store(settings)
          context.verify_hostname = false
          context.verify_callback = lambda do |good, store|
            found << [store.error, store.current_cert, store.error_string] unless good
            true
          end
          context
        end

        def store(settings)
          location, pem = settings.values_at(:"ssl.ca.location", :"ssl.ca.pem")
          OpenSSL::X509::Store.new.tap do |store|
            if pem then OpenSSL::X509::Certificate.load(pem).each { |certificate| store.add_cert(certificate) }
            elsif location.nil? || location == "probe" then store.set_default_paths
            elsif File.directory?(location) then store.add_path(location)
            else store.add_file(location)
            end
          end
        end

        def handshake(host, port, context, limit)
          @connect.call(host, port, resolv_timeout: Clock.left(limit), connect_timeout: Clock.left(limit)) do |socket|
            tls = OpenSSL::SSL::SSLSocket.new(socket, context)
            tls.hostname = host unless host.match?(/\A[\d.]+\z|:/)
            connect(tls, limit) or return
            yield tls.peer_cert
          end
        end

        def connect(tls, limit)
          until (state = tls.connect_nonblock(exception: false)).equal?(tls)
            io = tls.to_io
            ready = state == :wait_readable ? io.wait_readable(Clock.left(limit)) : io.wait_writable(Clock.left(limit))
            return unless ready
          end
          true
        end

        def problem_with_name(certificate, host, settings)
          return if settings[:"ssl.endpoint.identification.algorithm"].to_s == "none" || !verified?(settings)
          return if OpenSSL::SSL.verify_certificate_identity(certificate, host)

          names = certificate.extensions.find { |one| one.oid == "subjectAltName" }&.value&.gsub(/\b(?:DNS|IP Address):/, "")
          names ||= certificate.subject.to_utf8
          "its certificate is for #{names}, not for #{host}: use such a name in bootstrap.servers and in the broker's " \
            "advertised.listeners, or issue a certificate for #{host}"
        end

        # The broker says only that it refuses the certificate.
        def of_client(settings)
          location, pem = settings.values_at(:"ssl.certificate.location", :"ssl.certificate.pem")
          return unless location || pem

          certificate = OpenSSL::X509::Certificate.new(pem || File.read(location))
          return if certificate.not_after > Time.now

          "the client certificate of #{certificate.subject.to_utf8} (#{pem ? "ssl.certificate.pem" : location}) has expired " \
            "(#{certificate.not_after.utc.strftime(TIME_FORMAT)}): renew it; a server that runs needs a restart then"
        end

        def explain(code, certificate, text, settings)
          name = certificate.subject.to_utf8
          case code
          when OpenSSL::X509::V_ERR_CERT_HAS_EXPIRED
            "the certificate of #{name} has expired (#{certificate.not_after.utc.strftime(TIME_FORMAT)}): renew it"
          when OpenSSL::X509::V_ERR_CERT_NOT_YET_VALID
            "the certificate of #{name} is not valid before #{certificate.not_before.utc.strftime(TIME_FORMAT)}: check the clocks"
          when *UNKNOWN_ISSUER.filter_map { |constant| OpenSSL::X509.const_get(constant) }
            "its certificate was issued by #{certificate.issuer.to_utf8}, which #{authorities(settings)} does not have: " \
            "set ssl.ca.location to a file with that authority's certificate"
          else "the certificate of #{name} is not accepted: #{text}"
          end
        end

        def authorities(settings)
          return "ssl.ca.pem" if settings[:"ssl.ca.pem"]

          settings[:"ssl.ca.location"] ? "ssl.ca.location (#{settings[:"ssl.ca.location"]})" : "this system (ssl.ca.location is not set)"
        end
      end
    end
  end
end
