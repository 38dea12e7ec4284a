#!/bin/bash
# Stands for systemd where services run in a namespace: `systemd.sh PROGRAM ARGUMENT...` does what
# `systemctl` is asked for, with the commands of packaging/debian, and runs anything else as it is.
# A file /run/hold has whoever runs the program named in it wait.
set -u
units=@UNITS@ run=/run/units
mkdir -p "$run"
echo "$*" >>/run/told
# For ever: the test kills whoever waits.
while grep -qs "^$1$" /run/hold; do sleep 0.1; done
[ "$1" = systemctl ] || exec "$@"
verb=$2 unit=${*: -1}

# Prints how a unit is started.
start_of() {
  local name=${1%.service} template instance=''
  case $name in
    systemd-networkd) echo /lib/systemd/systemd-networkd; return ;;
    # What Debian's unit has, but for the user: the files of the test are root's.
    dnsmasq) echo "dnsmasq --user=root --conf-file=/dev/null --conf-dir=/etc/dnsmasq.d" \
      "--dhcp-leasefile=/run/leases --pid-file=$run/$1"
      return ;;
    *@*) template=${name%%@*}@ instance=${name#*@} ;;
    *) template=$name ;;
  esac
  sed -n "s|^ExecStart=||p" "$units/$template.service" | sed "s|%i|$instance|g"
}

stop() {
  local pid
  pid=$(cat "$run/$1" 2>/dev/null) || return 0
  kill "$pid" 2>/dev/null
  while kill -0 "$pid" 2>/dev/null; do sleep 0.02; done
  rm -f "$run/$1"
}

case $verb in
  enable) start_of "$unit" | grep -q . ;;
  stop) stop "$unit" ;;
  restart)
    stop "$unit"
    start=$(start_of "$unit")
    [ -n "$start" ] || { echo "no unit $unit" >&2; exit 5; }
    failed() { tail -3 "/run/log-$unit" >&2; exit 1; }
    # As by Debian's unit: the command ends when it has started, or could not.
    if [ "${unit%.service}" = dnsmasq ]; then
      $start >>"/run/log-$unit" 2>&1 </dev/null || failed
      exit
    fi
    # shellcheck disable=SC2086 # a command with its arguments
    setsid $start >>"/run/log-$unit" 2>&1 </dev/null &
    echo $! >"$run/$unit"
    # One that ends at once has not started.
    sleep 0.3
    kill -0 "$(cat "$run/$unit")" 2>/dev/null || failed
    ;;
  *) echo "systemctl $verb: not here" >&2; exit 1 ;;
esac
