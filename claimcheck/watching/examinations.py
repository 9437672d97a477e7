"""What is wrong with a cluster that is followed, as `claimcheck doctor` says it, whenever something has changed."""

from __future__ import annotations

from collections.abc import Callable
from time import monotonic

from allocator.time_limit import TimeLimit
from claimcheck.answers.doctor.examination import Examination, examine
from claimcheck.answers.doctor.examined import Examined
from claimcheck.watching.followed_cluster import FollowedCluster
from claimcheck.watching.pace import Pace
from resourceapi.phrases import some

#: How long a cluster is examined: as long nobody is told why pods wait.
LIMIT_SECONDS = 20.0
#: Characters of the pods on no node that are looked at together, and of what their claims ask for; the largest are left out.
MOST_CHARACTERS = 8 * 1024 * 1024
TOO_MUCH = "they and the claims of others ask for too much to be looked at together"


class Examinations:
    """Examines a cluster again and again; for one thread."""

    def __init__(
        self,
        cluster: FollowedCluster,
        publish: Callable[[Examination], None],
        namespace: str = "",
        clock: Callable[[], float] = monotonic,
    ) -> None:
        """Know nothing yet; :meth:`refresh` examines it.

        :param publish: is given what has been found.
        :param namespace: the only one whose pods and claims are looked at; empty: all.
        """
        self._cluster = cluster
        self._publish = publish
        self._namespace = namespace
        self._pace = Pace(clock)
        self._changes = -1

    def refresh(self) -> None:
        """Examine the cluster, if it has changed and it is time to.

        :raises OutOfTime: if patches of devices take too long.
        """
        changes = self._cluster.changes
        if changes == self._changes or not self._pace.is_time:
            return
        with self._pace.working():
            left_out = self._cluster.largest_pending(MOST_CHARACTERS)
            state, pods = self._cluster.state(frozenset(left_out))
            found = examine(Examined(state, pods, self._namespace, TimeLimit(LIMIT_SECONDS)))
            if left_out:
                found.unread.append(f"Not looked at: pods {some(left_out)}, since {TOO_MUCH}.")
            self._publish(found)
        self._changes = changes
