# frozen_string_literal: true

require "socket"
require "guildhall/clock"
require "guildhall/json"
require_relative "../reporting/process_memory"

module Guildhall
  module Kafka
    class Swarm
      # One process of the swarm, as the parent sees it. It has a number that stays the same when another process takes its place.
      class ChildProcess
        # Orders to the process.
        STOP = "stop"
        END_NOW = "end now"
        # And how another process of the swarm has ended, behind it as JSON: the parent has no client to report that itself.
        ENDED = "ended "
        STEADY_SECONDS = 60 # a process that has run for longer does not count as one that ended soon
        MEBIBYTE = 1_048_576.0
        private_constant :STEADY_SECONDS

        # @return [Float, nil] MiB that are resident, with what is shared with other processes; nil: there is no such process
        def self.memory_of(pid) = Reporting::ProcessMemory.resident(pid)&./(MEBIBYTE)

        # number: from 1; pid: nil where there is no process now; socket: its reports come there; due: when another process takes the place
        # of the one that has ended, by the {Clock}, nil: none does; sick, unready: why it is not alive, and not ready, by its own report.
        attr_reader :number, :pid, :socket, :due, :sick, :unready
        # @return [String, nil] how the last process of this number has ended, such as "SIGKILL (signal 9)"; nil: none has
        attr_reader :ended

        def initialize(number, backoff)
          @number = number
          @backoff = backoff
          @failures = 0
          @ended = nil
          forget
        end

        # Forks. The new process ends when the block does.
        def start(siblings)
          @socket, other = UNIXSocket.pair
          @pid = fork do
            siblings.filter_map(&:socket).each(&:close)
            @socket.close
            yield(other)
          end
          other.close
          @since = @heard = Clock.now
          @due = nil
          @unready = ["starting"]
        end

        def running? = !@pid.nil?
        def stopping? = running? && !@deadline.nil?
        def late? = stopping? && Clock.now > @deadline

        def silence = Clock.now - @heard

        def memory = @pid && self.class.memory_of(@pid)

        # Reads its reports. Does not block.
        def listen
          while (text = @socket&.read_nonblock(65_536, exception: false)).is_a?(String)
            @heard = Clock.now
            *lines, @line = "#{@line}#{text}".split("\n", -1)
            @sick, @unready = JSON.decode(lines.last) if lines.any?
          end
          close if text.nil?
        rescue SystemCallError
          close
        end

        # Asks it to stop in order; no other process takes its place unless {#schedule_restart} is called.
        def stop(timeout)
          @due = nil
          @deadline ||= Clock.now + timeout
          order(STOP)
        end

        def end_now(timeout)
          @deadline = Clock.now + timeout
          order(END_NOW)
        end

        # Lets it report how another one has ended.
        # @param details [Hash{String=>Object}]
        def tell_of_end(details) = order("#{ENDED}#{JSON.encode(details)}")

        def signal(signal)
          Process.kill(signal, @pid) if @pid
        rescue Errno::ESRCH
          nil # it has ended, and that will be noticed
        end

        # @return [Process::Status, nil] nil: it has not ended
        def reap
          pid, status = Process.wait2(@pid, Process::WNOHANG) if @pid
          return unless pid

          @failures = Clock.now - @since > STEADY_SECONDS ? 1 : @failures + 1
          @ended = status.to_s[/\A\S+ \d+ (.*)/, 1]
          forget
          status
        end

        def schedule_restart
          @backoff.seconds(@failures).tap { |seconds| @due = Clock.now + seconds }
        end

        private

        def forget
          close
          @pid = @deadline = @due = @line = nil
          @sick = @unready = [].freeze
        end

        def close
          @socket&.close
          @socket = nil
        end

        def order(text)
          @socket&.write_nonblock("#{text}\n", exception: false)
        rescue SystemCallError
          nil # it ends
        end
      end
    end
  end
end
