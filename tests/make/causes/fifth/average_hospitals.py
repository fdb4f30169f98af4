"""Federated averaging, simulated on one card: every hospital trains a copy, then the copies are averaged."""
import torch

from hospitals.client import Hospital, network


def main(rounds=3, hospitals=6):
    torch.cuda.memory._record_memory_history(max_entries=200_000, stacks="python")
    shared = network().cuda()
    for number in range(rounds):
        states = {}
        for h in range(hospitals):
            hospital = Hospital(shared, f"site{h}")
            states[hospital.name] = hospital.train(torch.empty(24 + 4 * h, 12, 1250) for _ in range(2))
        mean = {k: torch.stack([s[k].float() for s in states.values()]).mean(0) for k in shared.state_dict()}
        shared.load_state_dict(mean)
        del states, hospital, mean
        print("round", number, torch.cuda.memory_allocated() >> 20, torch.cuda.max_memory_allocated() >> 20, torch.cuda.memory_reserved() >> 20, flush=True)
    torch.cuda.memory._dump_snapshot("average_hospitals.pickle")


if __name__ == "__main__":
    main()
