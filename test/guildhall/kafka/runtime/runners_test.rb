# frozen_string_literal: true

require "test_helper"
require "guildhall/kafka"

class KafkaRunnersTest < GuildhallTest
  Job = Struct.new(:block) do
    def run = block.call
  end

  def setup
    @errors = Thread::Queue.new
    @runners = Guildhall::Kafka::Runtime::Runners.new(2) { |error| @errors << error }
  end

  def teardown
    @runners.close(now + 5)
  end

  def now = Process.clock_gettime(Process::CLOCK_MONOTONIC)

  def test_urgent_jobs_go_first_and_others_in_turn
    gate = Thread::Queue.new
    order = Thread::Queue.new
    2.times { @runners.push(Job.new(-> { gate.pop })) }
    eventually { @runners.busy == 2 }
    @runners.push(Job.new(-> { order << :first }))
    @runners.push(Job.new(-> { order << :urgent }), urgent: true)
    assert_equal 2, @runners.waiting
    gate << 1
    assert_equal %i[urgent first], Array.new(2) { order.pop }
    gate << 1
    eventually { @runners.busy.zero? }
  end

  def test_a_job_that_is_hurried_goes_before_those_that_waited_longer
    gate = Thread::Queue.new
    order = Thread::Queue.new
    2.times { @runners.push(Job.new(-> { gate.pop })) }
    eventually { @runners.busy == 2 }
    jobs = %i[first second].map { |name| Job.new(-> { order << name }).tap { |job| @runners.push(job) } }
    @runners.hurry(jobs.last)
    @runners.hurry(Job.new(-> { order << :not_pushed }))
    gate << 1
    assert_equal %i[second first], Array.new(2) { order.pop }
    assert_equal 0, @runners.waiting
    gate << 1
  end

  def test_whatever_a_job_raises_the_runner_goes_on
    done = Thread::Queue.new
    4.times { @runners.push(Job.new(-> { exit })) }
    @runners.push(Job.new(-> { done << true }))
    assert done.pop(timeout: 60)
    eventually { @errors.size == 4 }
    assert_instance_of SystemExit, @errors.pop
  end

  def test_a_runner_that_a_job_has_ended_is_replaced
    done = Thread::Queue.new
    4.times { @runners.push(Job.new(-> { Thread.exit })) }
    @runners.push(Job.new(-> { done << Thread.current.name }))
    assert_match(/\Aguildhall runner [12]\z/, done.pop(timeout: 60))
    eventually { @errors.size == 4 && @runners.busy.zero? }
    assert_instance_of Guildhall::TaskError, @errors.pop
  end

  def test_a_runner_that_was_replaced_is_forgotten
    3.times { @runners.push(Job.new(-> { Thread.exit })) }
    eventually { @errors.size == 3 && @runners.busy.zero? }
    eventually { Thread.list.count { |thread| @runners.include?(thread) } == 2 }
    assert_equal 2, @runners.instance_variable_get(:@threads).size
  end

  def test_a_runner_that_is_killed_while_it_waits_is_replaced
    threads = Thread.list.select { |thread| @runners.include?(thread) }
    eventually { threads.all?(&:stop?) }
    threads.each(&:kill).each(&:join)
    done = Thread::Queue.new
    @runners.push(Job.new(-> { done << true }))
    assert done.pop(timeout: 60)
    assert @runners.close(now + 5)
  end

  def test_closing_runs_everything_although_threads_were_ended
    done = Thread::Queue.new
    5.times { @runners.push(Job.new(-> { Thread.exit })) }
    @runners.push(Job.new(-> { done << true }))
    assert @runners.close(now + 5)
    assert_equal 1, done.size
  end

  def test_closing_runs_what_was_pushed_and_has_a_deadline
    done = Thread::Queue.new
    5.times { |index| @runners.push(Job.new(-> { done << index })) }
    assert @runners.close(now + 5)
    assert_equal 5, done.size
  end

  def test_closing_does_not_wait_longer_for_several_that_cannot_be_killed
    runners = Guildhall::Kafka::Runtime::Runners.new(6)
    gate = Thread::Queue.new
    6.times do
      runners.push(Job.new(lambda do
        sleep
      ensure
        gate.pop
      end))
    end
    eventually { runners.busy == 6 }
    began = now
    refute runners.close(began)
    assert_operator now - began, :<, 4
  ensure
    gate.close
    eventually { Thread.list.none? { |thread| runners.include?(thread) } }
  end

  def test_closing_ends_what_does_not_end
    @runners.push(Job.new(-> { sleep }))
    eventually { @runners.busy == 1 }
    refute @runners.close(now + 0.05)
    assert_empty @errors, "its consumer has reported that"
  end
end
