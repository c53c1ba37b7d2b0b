#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "machines/driver.h"

// Perl programs that driver ssh sends to hosts (Perl 5.10 or later with its core modules; Linux).
namespace millrace::machines {

// Reads the source of a program from stdin and evaluates it. Its arguments are the token and the size of the
// source. It contains no single quote, so every login shell passes it as one argument.
inline constexpr std::string_view kRemoteLoader =
    R"(binmode STDIN;$s="";($t,$n)=@ARGV;syswrite STDOUT,$t;syswrite STDERR,"$t ready\n";)"
    R"(while(length($s)<$n){sysread(STDIN,$s,$n-length($s),length($s))or exit 0})"
    R"(eval $s;if($@){syswrite STDERR,"$t broken $@";exit 1})";

// The common first part of both programs. A request is a four-byte size followed by fields; each field is
// preceded by its size.
inline constexpr std::string_view kRemoteBase = R"(use strict;
my ($token) = @ARGV;
my ($execution);
sub take {
  my ($size) = @_;
  my $bytes = "";
  while (length($bytes) < $size) {
    sysread(STDIN, $bytes, $size - length($bytes), length($bytes)) or exit 0;
  }
  return $bytes;
}
sub fields { return unpack("(N/a)*", take(unpack("N", take(4)))); }
sub content {
  open(my $file, "<", $_[0]) or return "";
  binmode $file;
  local $/;
  my $bytes = <$file>;
  return defined $bytes ? $bytes : "";
}
sub marked {
  return index("\0" . content("/proc/$_[0]/environ"), "\0MILLRACE_EXECUTION_ID=$execution\0") >= 0;
}
sub tree {
  my ($root) = @_;
  my %parent;
  opendir(my $folder, "/proc") or return;
  for my $pid (grep { /^[0-9]+$/ } readdir $folder) {
    content("/proc/$pid/stat") =~ /^.*\) (\S) ([0-9]+) /s and $1 ne "Z" and $parent{$pid} = $2;
  }
  my $below = sub {
    my ($pid) = @_;
    for (my $up = $parent{$pid}; $up; $up = $parent{$up}) { return 1 if $up == $root; }
    return 0;
  };
  return grep { $_ != $$ && $_ != $root && (($root && $below->($_)) || marked($_)) } keys %parent;
}
sub sweep {
  my ($signal, $root) = @_;
  for (1 .. 300) {
    my @found = tree($root) or return;
    kill $signal, @found;
    if ($signal eq "TERM") { kill "CONT", @found; return; }
    select(undef, undef, undef, 0.01);
  }
}
)";

inline constexpr std::string_view kRemoteRun = R"(
sub told { syswrite(STDERR, "$token @_\n"); }
sub failed { told("failed", @_); exit 0; }
($execution, my $machine, my $folder, my $grace_ms, my $count, my @rest) = fields();
my @words = splice(@rest, 0, $count);
if ($folder ne "") { chdir $folder or failed("folder", $! + 0); }
sub command {
  my ($say) = @_;
  setpgrp(0, 0);
  %ENV = (%ENV, MILLRACE_MACHINE_ID => $machine, @rest, MILLRACE_EXECUTION_ID => $execution);
  { no warnings; exec { $words[0] } @words; }
  syswrite($say, $! + 0);
  kill "KILL", $$;
}
sub adopt {
  my %prctl = (x86_64 => 157, aarch64 => 167, riscv64 => 167, ppc64le => 171, s390x => 172);
  my ($architecture) = eval { require POSIX; (POSIX::uname())[4] };
  my $number = $architecture && $prctl{$architecture};
  syscall($number, 36, 1, 0, 0, 0) if $number;
}
sub run {
  adopt();
  pipe(my $said, my $say) or failed("fork", $! + 0);
  my $child = fork;
  defined $child or failed("fork", $! + 0);
  command($say) if !$child;
  $SIG{PIPE} = "IGNORE";
  $SIG{USR1} = sub { $grace_ms = 0; };
  close $say;
  close STDIN;
  my $reason;
  failed("execute", $reason) if sysread($said, $reason, 16);
  told("began", $$);
  my ($pid, $status);
  do { $pid = waitpid(-1, 0); $status = $?; } until $pid == $child || ($pid < 0 && $! + 0 != 4);
  $status & 127 ? told("signal", $status & 127) : told("exit", $status >> 8);
  linger();
  sweep("KILL", $$);
}
sub writes {
  my ($pid, $out, $err) = @_;
  opendir(my $folder, "/proc/$pid/fd") or return 0;
  return grep { my $to = readlink("/proc/$pid/fd/$_") || ""; $to eq $out || $to eq $err } readdir $folder;
}
sub linger {
  my ($out, $err) = map { readlink("/proc/$$/fd/$_") || "-" } 1, 2;
  for (; grep { writes($_, $out, $err) } tree($$); $grace_ms -= 20) {
    return told("open") if $grace_ms <= 0;
    select(undef, undef, undef, 0.02);
  }
}
pipe(my $over, my $lives) or failed("fork", $! + 0);
my $runner = fork;
defined $runner or failed("fork", $! + 0);
if (!$runner) { close $over; run(); exit 0; }
close $lives;
close STDIN;
my ($watched, $seen) = ("");
vec($watched, fileno($over), 1) = 1;
vec($watched, fileno(STDERR), 1) = 1 if -p STDERR;
select($seen = $watched, undef, undef, undef);
sweep("KILL", $runner) if !vec($seen, fileno($over), 1);
waitpid($runner, 0);
sweep("KILL", 0) if $?;
exit 0;
)";

inline constexpr std::string_view kRemoteSweep = R"(
($execution, my $run, my $root, my $signal) = fields();
$root = 0 if index(content("/proc/$root/cmdline"), $run) < 0;
kill "USR1", $root if $root;
sweep($signal, $root);
exit 0;
)";

// What driver ssh runs on a machine's host: small Perl programs. A shell script would not do: a shell cannot
// distinguish a signal from an exit code, cannot report why a command was not executed, and starts commands
// with some signals ignored.
//
// The command line that starts a program contains no user data. The program reports that it is ready. It then
// reads its source and its request from stdin, and not one byte more. It writes its reports to stderr, as
// lines that begin with a random token. They may appear anywhere between the output of the command.
//
// The process that starts the command is a subreaper for all of its descendants. The command runs in a new
// process group with $MILLRACE_EXECUTION_ID set. A sweep sends SIGUSR1 to it: output is no longer waited for.
// All descendants, and all processes with that variable, are killed when the command has ended and its output
// is closed or the grace is over, or when the reader of its stderr is gone because the connection broke.

std::string make_remote_token();  // 32 hex digits

enum class RemoteTask : std::uint8_t { kRun, kSweep };

// The command line for the login shell of the machine's host. It works in every shell.
std::string remote_command(RemoteTask task, const std::string& token);

// The input of a kRun. The stdin of the command follows it.
std::string remote_run_input(const CommandRequest& request);

// Identifies the processes of one kRun.
struct RemoteTree {
  std::string execution;
  std::string token;        // token of the kRun
  std::int64_t runner = 0;  // pid that it reported; 0: not known
};
// The input of a kSweep. It sends SIGTERM once, followed by SIGCONT. It repeats SIGKILL until no process is
// left.
std::string remote_sweep_input(const RemoteTree& tree, int signal);

// A report of a remote program.
struct RemoteMessage {
  enum class Kind : std::uint8_t {
    kReady,   // it waits for its source and its request: nothing has run
    kBegan,   // the command runs: `runner` is set
    kEnded,   // the command has ended: `end` is kExited, kSignalled or kPrepareFailed
    kOpen,    // after the grace, a process still held the output open; follows kEnded
    kBroken,  // it failed: `end` is kHostFailed with a message for the log
  };
  Kind what = Kind::kBroken;
  std::int64_t runner = 0;
  CommandResult end;
};
RemoteMessage remote_message_from(std::string_view line);

// Separates the reports from the command's output in the stderr of a kRun. Anything before the first report
// (ready) does not come from the command.
class RemoteErrors {
 public:
  explicit RemoteErrors(std::string token) : token_(std::move(token)) {}

  struct Piece {
    bool word = false;      // true: `text` is a report without its token; false: output of the command
    std::string_view text;  // valid until the next call on this object
  };
  void add(std::string_view bytes);
  std::optional<Piece> next();  // nullopt: more input is needed
  std::string_view rest();      // at the end: bytes that could have been the beginning of a token

 private:
  std::string token_;
  std::string bytes_;
  std::size_t taken_ = 0;  // of `bytes_`
};

// Drops the output of the login shell on stdout, up to the token, and passes on everything after it.
class RemoteOutput {
 public:
  explicit RemoteOutput(std::string token) : token_(std::move(token)) {}
  std::string_view passed(std::string_view bytes);  // the part of `bytes` that comes from the command

 private:
  std::string token_;
  std::string tail_;
  bool ready_ = false;
};

}  // namespace millrace::machines
