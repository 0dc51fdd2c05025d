# frozen_string_literal: true

# A process inherits which signals are ignored: a shell script starts `command &` with INT and QUIT ignored, `nohup` with HUP, some CI
# systems others. A server that a test starts would ignore them, too, and never stop. This gives them their default effect in this
# process, and so in all that it starts. Nothing has been trapped yet when it is called.
module DefaultSignals
  NAMES = %w[INT QUIT TERM HUP TSTP TTIN USR1 USR2].freeze

  def self.restore = NAMES.each { |name| trap(name, "DEFAULT") }
end
