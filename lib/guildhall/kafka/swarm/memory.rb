# frozen_string_literal: true

require "etc"

module Guildhall
  module Kafka
    class Swarm
      # How much memory a process has.
      module Memory
        MEBIBYTE = 1_048_576
        PAGE = Etc.sysconf(Etc::SC_PAGESIZE)
        private_constant :PAGE

        # Resident memory, also what is shared with other processes.
        # @return [Float, nil] MiB; nil: there is no such process
        def self.resident(pid)
          return File.read("/proc/#{pid}/statm").split[1].to_i * PAGE / MEBIBYTE.to_f if File.exist?("/proc/self/statm")

          kibibytes = IO.popen(["ps", "-o", "rss=", "-p", pid.to_s], &:read).to_i
          kibibytes / 1024.0 if kibibytes.positive?
        rescue Errno::ENOENT, Errno::ESRCH
          nil
        end
      end
    end
  end
end
