#!/usr/bin/python3
"""Simulates instances behind a balancer with health checks: latency and lost requests in steady
state, during a rolling restart, and after the failure of one instance. docs/scaling.md uses it.

Requests arrive at random (Poisson) and take a random time (exponential) on one of the workers of
an instance. The balancer takes the instances in turn, leaving out those that it knows to be down.
A failed instance loses what it serves, and what the balancer sends to it until checks have
failed."""

import argparse
import heapq
import random


class Instance:
    def __init__(self, workers):
        self.free_at = [0.0] * workers  # when each worker has finished what it got
        self.ready = True  # as the balancer sees it
        self.alive = True
        self.served = []  # (begin, end) of requests, for a failure

    def serve(self, now, time):
        begin = max(now, heapq.heappop(self.free_at))
        heapq.heappush(self.free_at, begin + time)
        return begin + time


def events_of(scenario, options):
    """[(time, action, instance)]: `leave` and `join` by the balancer, `fail` of the process."""
    third, noticed = options.seconds / 3, options.interval * options.fall
    if scenario == "restart":
        pause = options.drain + options.start
        return [(third + i * pause + shift, action, i) for i in range(options.instances)
                for shift, action in ((noticed, "leave"), (pause, "join"))]
    if scenario == "failure":
        return [(third, "fail", 0), (third + noticed, "leave", 0)]
    return []


def simulate(scenario, options):
    """Latencies in seconds, and the number of lost requests."""
    chance = random.Random(options.seed)
    instances = [Instance(options.workers) for _ in range(options.instances)]
    events = sorted(events_of(scenario, options))
    now, turn, latencies, lost, in_flight = 0.0, 0, [], 0, []
    while now < options.seconds:
        now += chance.expovariate(options.load)
        while events and events[0][0] <= now:
            at, action, which = events.pop(0)
            one = instances[which]
            if action == "fail":
                one.alive = False
                lost += sum(end > at for end, index in in_flight if index == which)
            else:
                one.ready = action == "join"
        ready = [i for i, one in enumerate(instances) if one.ready]
        if not ready:
            lost += 1
            continue
        turn += 1
        index = ready[turn % len(ready)]
        one = instances[index]
        if not one.alive:
            if options.retry: # a refused connection is tried elsewhere
                others = [i for i in ready if instances[i].alive]
                if others:
                    index = others[turn % len(others)]
                    one = instances[index]
            if not one.alive:
                lost += 1
                continue
        end = one.serve(now, chance.expovariate(1 / options.time))
        latencies.append(end - now)
        in_flight.append((end, index))
        if len(in_flight) > 10000:
            in_flight = [entry for entry in in_flight if entry[0] > now]
    return latencies, lost


def percentile(values, part):
    return sorted(values)[min(len(values) - 1, int(len(values) * part))] if values else 0.0


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--instances", type=int, default=3)
    parser.add_argument("--workers", type=int, default=2, help="of each instance")
    parser.add_argument("--load", type=float, default=4000, help="requests a second, in all")
    parser.add_argument("--time", type=float, default=0.001, help="seconds per request")
    parser.add_argument("--seconds", type=float, default=30)
    parser.add_argument("--interval", type=float, default=0.2, help="seconds between checks")
    parser.add_argument("--fall", type=int, default=1, help="failed checks until it is left out")
    parser.add_argument("--drain", type=float, default=4, help="drain_delay and drain_grace")
    parser.add_argument("--start", type=float, default=0.1, help="seconds until it serves again")
    parser.add_argument("--retry", action=argparse.BooleanOptionalAction, default=True,
                        help="the balancer tries a refused connection elsewhere")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    capacity = options.workers / options.time
    use = options.load / options.instances / capacity
    left = options.load / max(1, options.instances - 1) / capacity
    print(f"use of an instance: {use:.0%}, with one of them missing {left:.0%}")
    print(f"{'':10} {'served':>9} {'lost':>6} {'p50 ms':>8} {'p99 ms':>8} {'p99.9 ms':>9}")
    for scenario in ("steady", "restart", "failure"):
        latencies, lost = simulate(scenario, options)
        times = (f"{1000 * percentile(latencies, part):>{width}.2f}"
                 for part, width in ((.5, 8), (.99, 8), (.999, 9)))
        print(f"{scenario:10} {len(latencies):9} {lost:6} {' '.join(times)}")


if __name__ == "__main__":
    main()
