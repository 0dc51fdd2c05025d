# frozen_string_literal: true

require "guildhall/clock"
require "socket"
require_relative "../../reachability/tls_diagnosis"

module Guildhall
  module Kafka
    class Admin
      class Check
        # From the brokers' names to the login, for one client's settings: each step is taken only if the one before has worked.
        # @api private
        class Connection
          SETTINGS = /\A(?:bootstrap\.servers|metadata\.broker\.list|security\.protocol|(?:enable\.)?ssl[._].*|sasl[._].*)\z/
          TIMEOUT_SECONDS = 3
          EXPIRY_DAYS = 30 # a certificate that ends within them is a warning
          DAY = 86_400
          LOCAL = /\A(?:localhost|127\.\d+\.\d+\.\d+|::1|0\.0\.0\.0)\z/
          private_constant :SETTINGS, :TIMEOUT_SECONDS, :EXPIRY_DAYS, :DAY, :LOCAL

          # @return [Hash{Symbol=>Object}] those of the settings that say which brokers are asked, and as whom
          def self.of(settings) = settings.select { |name, _| SETTINGS.match?(name) }

          # @param connections [Connections] of this client: made only once the step before has worked
          # @param note [#call] gets the members of a {Finding}
          def initialize(connections, note)
            @connections = connections
            @settings = connections.settings
            @note = note
          end

          # @return [Boolean] whether the brokers can be asked
          def run
            reached = Application::Clients.addresses(@settings).map { |address| reach(address) }
            return false if reached.none?

            names = login or return false
            cluster(names)
            true
          end

          private

          def tls? = @settings[:"security.protocol"].to_s.match?(/ssl/i)

          # Resolves, connects, and shakes hands.
          def reach(address)
            host, port = address.match(/\A\[?(.*?)\]?:(\d+)\z/)&.captures
            return problem(address, "this is no address: write HOST:PORT") unless host

            ip = resolve(host) or
              return problem(address, "DNS: the name #{host} cannot be resolved: check bootstrap.servers, and this machine's DNS")
            milliseconds, reason = connect(host, port)
            return problem(address, "TCP: #{reason} (#{ip}): #{Broker::Errors.advice(:transport)}") if reason

            secure(address, "#{ip}, connected in #{milliseconds} ms")
          end

          def secure(address, text)
            certificate = nil
            reason = Reachability::TLSDiagnosis.new { @settings }.call(address) { |found| certificate = found }
            return problem(address, "TLS: #{reason}") if reason
            return note(address, :ok, text) unless certificate

            expires = certificate.not_after
            text = "#{text}, its certificate holds until #{expires.utc.strftime("%F")}"
            return note(address, :ok, text) if expires - Time.now > EXPIRY_DAYS * DAY

            note(address, :warning, "#{text}: renew it in time")
          end

          def problem(address, text)
            @note.call("brokers", address, :problem, text)
            false
          end

          def note(address, status, text)
            @note.call("brokers", address, status, text)
            true
          end

          # @return [String, nil] the first IP address
          def resolve(host)
            thread = Thread.new { Addrinfo.getaddrinfo(host, nil, nil, :STREAM).first&.ip_address }
            thread.report_on_exception = false
            thread.join(TIMEOUT_SECONDS)&.value
          rescue SocketError
            nil
          end

          # @return [Array(Float, nil), Array(nil, String)] milliseconds, or why not
          def connect(host, port)
            began = Clock.now
            Socket.tcp(host, port, connect_timeout: TIMEOUT_SECONDS, resolv_timeout: TIMEOUT_SECONDS, &:close)
            [((Clock.now - began) * 1000).round(1), nil]
          rescue SystemCallError, SocketError, IOError => error
            [nil, error.message[/\A[^-]+?(?= -|\z)/].to_s.strip.downcase]
          end

          # @return [Array<String>, nil] the topics' names; nil: the brokers do not take these credentials, or do not answer
          def login
            names = @connections.session.topic_names
            @note.call("brokers", "login", :ok, "#{user}, #{tls? ? "encrypted" : "not encrypted"}")
            names
          rescue KafkaError => error
            @note.call("brokers", "login", :problem, error.message)
            nil
          end

          def user
            return "no user and password are asked for" unless @settings[:"security.protocol"].to_s.match?(/sasl/i)

            "#{@settings[:"sasl.mechanism"] || @settings[:"sasl.mechanisms"]} as #{@settings[:"sasl.username"] || "the token's user"}"
          end

          # Brokers are found by the addresses that they advertise, whatever bootstrap.servers says.
          def cluster(names)
            report = @connections.request("the brokers", &:describe_cluster)
            nodes = report.nodes
            unreachable = nodes.reject { |node| connect(node[:host], node[:port]).last.nil? }
            unreachable.each { |node| unreachable(node) }
            text = "#{Printable.count(nodes.size, "broker")} (controller: #{report.controller&.fetch(:id, nil) || "none"}), " \
                   "#{Printable.count(names.size, "topic")} that this user may see; librdkafka #{Rdkafka::LIBRDKAFKA_VERSION}"
            @note.call("cluster", report.cluster_id.to_s, :ok, text)
          rescue KafkaError => error
            @note.call("cluster", "brokers", :warning, "cannot be listed: #{error.message}")
          end

          def unreachable(node)
            address = "#{node[:host]}:#{node[:port]}"
            hint = LOCAL.match?(node[:host]) ? ", for an address of this kind is the machine itself" : ""
            @note.call("cluster", "broker #{node[:id]}", :problem,
              "it advertises #{address}, where nothing can be reached from here: correct the broker's advertised.listeners#{hint}")
          end
        end
      end
    end
  end
end
