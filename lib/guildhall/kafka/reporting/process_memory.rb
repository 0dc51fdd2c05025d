# frozen_string_literal: true

require "etc"

module Guildhall
  module Kafka
    module Reporting
      # The memory of a process, and what it may have. In bytes.
      # @api private
      module ProcessMemory
        PAGE_BYTES = Etc.sysconf(Etc::SC_PAGESIZE)
        CGROUP = "/sys/fs/cgroup"
        UNLIMITED = 1 << 60 # how version 1 of control groups says that there is no limit, about
        private_constant :PAGE_BYTES, :CGROUP, :UNLIMITED

        class << self
          # @return [Integer, nil] what is resident, with what is shared with other processes; nil: there is no such process
          def resident(pid = Process.pid)
            return File.read("/proc/#{pid}/statm").split[1].to_i * PAGE_BYTES if File.exist?("/proc/self/statm")

            kibibytes = IO.popen(["ps", "-o", "rss=", "-p", pid.to_s], &:read).to_i
            kibibytes * 1024 if kibibytes.positive?
          rescue Errno::ENOENT, Errno::ESRCH
            nil
          end

          # The smallest limit of this process's control group and those above it, and what all processes use that share this limit, without
          # what the system gives back by itself. Beyond the limit it kills one.
          # @return [Array(Integer | nil, Integer | nil)] nil: there is no limit, or it is not known
          def limit_and_used
            file, limit = group
            [limit, file && used(File.dirname(file))]
          end

          # @return [Array(Integer | nil, Integer | nil)] as {.limit_and_used}, of the machine; nil: its system does not say it there
          def machine
            total, available = File.read("/proc/meminfo").scan(/^Mem(?:Total|Available): +(\d+) kB$/).flatten.map { it.to_i * 1024 }
            [total, available && (total - available)]
          rescue SystemCallError
            [nil, nil]
          end

          private

          def used(folder)
            all = read("#{folder}/memory.current") || read("#{folder}/memory.usage_in_bytes") or return
            text = File.read("#{folder}/memory.stat")
            cached = text[/^total_inactive_file (\d+)/, 1] || text[/^inactive_file (\d+)/, 1]
            [all - cached.to_i, 0].max
          rescue SystemCallError
            nil
          end

          # @return [Array(String, Integer), nil] the file of the smallest limit, and that
          def group
            files = File.foreach("/proc/self/cgroup", chomp: true).flat_map { |line| files(*line.split(":", 3).drop(1)) }
            files.filter_map { |file| read(file)&.then { |bytes| [file, bytes] } }.min_by(&:last)
          rescue SystemCallError
            nil
          end

          # Inside of a container the path may be that of the host: the container's own group is at the root then.
          def files(controllers, path)
            root, name = controllers.empty? ? [CGROUP, "memory.max"] : ["#{CGROUP}/memory", "memory.limit_in_bytes"]
            return [] unless controllers.empty? || controllers.split(",").include?("memory")

            folders = path.split("/").reject(&:empty?)
            (0..folders.size).map { |depth| File.join(root, *folders.first(depth), name) }
          end

          def read(file)
            bytes = Integer(File.read(file), exception: false)
            bytes if bytes && bytes < UNLIMITED
          rescue SystemCallError
            nil
          end
        end
      end
    end
  end
end
