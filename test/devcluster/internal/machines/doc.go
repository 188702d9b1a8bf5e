// Package machines has the life of machines that the stand-ins for clouds have in common: which exist, in which zones,
// which are stopped, and whether the cloud denies them.
//
// A cloud whose machines are no more than that embeds Machines. One whose machines have a life of their own, such as
// members of scale sets or instances that stay as terminated, embeds Zones and Denial.
package machines
