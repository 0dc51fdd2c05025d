# frozen_string_literal: true

module Guildhall
  module Kafka
    class Swarm
      # Checks settings and routes in a process of its own: librdkafka checks settings by making a client, and the parent must not have
      # had one.
      module ConfigurationCheck
        # Blocks until it is done.
        # @raise [ConfigurationError] listing every error
        def self.run(application, selection)
          reader, writer = IO.pipe(binmode: true)
          pid = fork do
            reader.close
            writer.write(Marshal.dump(problem(application, selection)))
          ensure
            writer.close
            exit!(0)
          end
          writer.close
          answer = reader.read
          raise ConfigurationError, "settings and routes could not be checked: the process that checks them has ended" if answer.empty?

          name, message = Marshal.load(answer) # rubocop:disable Security/MarshalLoad -- our own process has written it
          raise Object.const_get(name), message if name
        ensure
          reader&.close
          Process.wait(pid) if pid
        end

        # @return [Array(String, String), nil] class and message
        def self.problem(application, selection)
          application.check!(**selection)
          nil
        rescue Guildhall::Error => error
          [error.class.name, error.message]
        rescue StandardError, ScriptError => error
          [ConfigurationError.name, error.full_message(highlight: false)]
        end
        private_class_method :problem
      end
    end
  end
end
